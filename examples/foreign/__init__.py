"""Methods of metric learning that the package was not made for, each stated, solved and proven."""
