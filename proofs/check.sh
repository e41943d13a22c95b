#!/bin/sh
# Compiles the proofs, and fails on any error, on a proof that is left open, and on an assumption that is not one of the four
# that Coq's real numbers, their roots and logarithms are built on.
set -eu
cd "$(dirname "$0")"
command -v coqc > /dev/null || { echo "make prove needs Coq: install Debian's package coq (apt-get install coq)"; exit 1; }

files="Sums Spectra Determinants Losses Shares Slopes Choices Cones Programs Translation Rankings"
allowed="ClassicalDedekindReals.sig_forall_dec ClassicalDedekindReals.sig_not_dec
    FunctionalExtensionality.functional_extensionality_dep Classical_Prop.classic"

if grep -nwE 'Admitted|admit|give_up|Axiom|Axioms|Parameter|Parameters|Conjecture' ./*.v; then
    echo "proofs: left open or assumed, see above"; exit 1
fi

theorems=""
for file in $files; do
    coqc -q -Q . Certificates "$file.v"
    theorems="$theorems $(sed -nE "s/^ *Theorem ([A-Za-z0-9_]+).*/$file.\1/p" "$file.v")"
done

# What all theorems assume together: to print it of each takes a second for every one.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo "From Certificates Require $files.
Definition theorems := ($(echo $theorems | sed 's/ /, /g')).
Print Assumptions theorems." > "$folder/Assumed.v"
printed=$(coqc -q -Q . Certificates "$folder/Assumed.v")
# Names of assumptions begin a line, what they say is indented.
assumed=$(echo "$printed" | grep -vxE 'Axioms:|  .*' | sed 's/ .*//')
for name in $assumed; do
    case " $(echo $allowed) " in *" $name "*) ;; *) echo "proofs: $name is assumed"; exit 1 ;; esac
done
echo "$(echo $theorems | wc -w) theorems proven; assumed, by Coq's real numbers:" $assumed
