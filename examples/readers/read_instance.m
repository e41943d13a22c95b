% Reads an exported instance, checks the hashes of its arrays, and prints its objective:
%     octave-cli --no-history read_instance.m FOLDER/NAME [METRIC.npy]
% at the Euclidean metric, or at that of a file: (d, d), (d, k), or (d,) for the weights of a diagonal one. It has all
% risks, losses, measures and regularizers of the library's instances; docs/instances.md says where they
% are specified. The first three functions are all that it takes to read the files.
1;
function [told, a] = read_all(path)  % description and arrays of FOLDER/NAME
  told = jsondecode(fileread([path ".json"])); folder = tempname(); a = struct();
  for file = unzip([path ".npz"], folder)(:)'
    [~, key] = fileparts(file{1}); [a.(key), found] = npy(fullfile(folder, file{1}));
    assert(strcmp(found, told.sha256.(key)), "%s is not the array that was exported", key);
  end
  assert(numfields(a) == numfields(told.sha256), "arrays are missing");
  confirm_recursive_rmdir(false); rmdir(folder, "s");
end
function [A, digest] = npy(file)  % an array, vectors as columns, and the SHA-256 of its type, shape and bytes
  f = fopen(file); head = fread(f, 10); text = fread(f, head(9) + 256 * head(10), "*char")';
  bytes = fread(f, Inf, "*uint8"); fclose(f);
  found = regexp(text, "'descr': '(...)'.*'shape': (\\([^)]*\\))", "tokens"){1};
  digest = hash("sha256", [found{1} " " found{2} ";" char(bytes')]);
  types = struct("f8", "double", "i8", "int64", "i4", "int32", "u1", "uint8");
  A = double(typecast(bytes, types.(found{1}(2:3)))); shape = str2num(["[" found{2}(2:end - 1) "]"]);
  if numel(shape) > 1, A = permute(reshape(A, fliplr(shape)), numel(shape):-1:1); end
end
function x = number(t, key, default = 1)  % a rational, as a float
  x = default;
  if isfield(t, key), x = str2double(strsplit(t.(key), "/")); x = x(1) / prod(x(2:end)); end
end
function c = each(tables)  % tables of the same keys are read as an array of structs
  c = tables;
  if isstruct(c), c = num2cell(c); end
end
function a = own(start, a)  % arrays of a summand, under names without the beginning
  for key = fieldnames(a)'
    if strncmp(key{1}, start, numel(start)), a.(key{1}(numel(start) + 1:end)) = a.(key{1}); end
  end
end
function A = square(A)  % a diagonal as a matrix
  if isvector(A), A = diag(A); end
end
function D = distances(Q, X, M, similar)  % of all rows of Q and X; of similarities the negative
  if similar, D = -Q * M * X'; return; end
  Q -= mean(X); X -= mean(X);
  D = sum(Q * M .* Q, 2) + sum(X * M .* X, 2)' - 2 * Q * M * X';
end
function l = loss(kind, s, mu)
  switch kind
    case "hinge", l = max(0, mu - s);
    case "logistic", l = max(0, -s) + log1p(exp(-abs(s)));
    case "hard", l = zeros(size(s)); l(s < mu) = Inf;
    case "negative log", l = -log(s);
    case "negative root", l = -sqrt(s);
    case "itakura-saito"
      if mu > 0, r = min(1, s / mu); else, r = max(1, s / mu); end
      l = r - log(r) - 1; l(r <= 0) = Inf;
    otherwise, error("the loss %s is not here", kind);
  end
end
function g = gain(kind, i, b, p, k)  % i = 1..p down the rows, b = 0..f along the columns
  h = min(k, p); D = @(t) 1 ./ log2(max(t, 2));
  switch kind
    case "map", g = i ./ (p * (i + b));
    case "mrr", g = (i == 1) ./ (1 + b);
    case "err", g = 0.5 .^ i ./ (i + b) / sum(0.5 .^ i ./ i);
    case "precision", g = (i + b <= h) / h;
    case "knn", g = (i == floor(h / 2) + 1) & (i + b <= h);
    case "ndcg", g = (i + b <= h) .* D(i + b) / sum(D(1:h));
    case "ndcg-log2", g = (i + b <= h) .* D(i + b + 1) / sum(D(2:h + 1));
    otherwise, error("the measure %s is not here", kind);
  end
end
function l = softmax(D, chosen)  % a choice a row; the first columns were chosen
  least = min(D, [], 2); l = log(sum(exp(least - D), 2)) - least + mean(D(:, 1:chosen), 2);
end
function R = parts(t, a, M, similar)  % the numbers that a risk sums
  X = a.points; c = number(t, "weight"); R = [];
  assert(! isfield(t, "short") && ! any(isfield(a, {"targets", "comparison_weights"})), "this is not here");
  switch t.kind
    case "sum"
      of = each(t.summands);
      for k = 1:numel(of), R = [R; parts(of{k}, own(sprintf("summand%d_", k - 1), a), M, similar)]; end
    case "worst"
      R = sort(parts(t.of, a, M, similar), "descend"); n = numel(R); kappa = 1 / max(1, number(t, "share") * n);
      R = n * min(max(1 - kappa * (0:n - 1)', 0), kappa) .* R;
    case "listed choices"
      D = distances(X, X, M, similar)(sub2ind([rows(X) rows(X)], a.pairs(:, 1) + 1, a.pairs(:, 2) + 1));
      R = c * softmax(reshape(D, t.candidates, [])' / number(t, "temperature"), t.chosen);
    case {"listed comparisons", "all pairs"}
      D = distances(X, X, M, similar); of = each(t.terms); at = @(i, j) D(sub2ind(size(D), i + 1, j + 1));
      if isfield(a, "codes")
        upper = triu(true(size(D)), 1); s = D(upper); which = (a.codes != a.codes')(upper);
      elseif isfield(a, "triplets")
        T = a.triplets; s = at(T(:, 1), T(:, 3)) - at(T(:, 1), T(:, 2)); which = a.terms;
      else
        s = at(a.pairs(:, 1), a.pairs(:, 2)); which = a.terms;
      end
      for n = 1:numel(of)
        u = of{n}; R = [R; number(u, "weight") * loss(u.loss, u.sign * s(which == n - 1), number(u, "margin"))];
      end
    otherwise
      ends = [0; a.near_stops]; n = numel(ends) - 1; total = n; R = zeros(n, 1);
      if isfield(t, "queries"), total = t.queries; end
      if isfield(a, "queries"), Q = a.queries; else, Q = X(a.anchors + 1, :); end
      if isfield(a, "far"), stops = [0; a.far_stops]; end
      D = distances(Q, X, M, similar);
      for q = 1:n
        i = a.near(ends(q) + 1:ends(q + 1)) + 1;
        if isfield(a, "far")
          j = a.far(stops(q) + 1:stops(q + 1)) + 1;
        else
          j = true(1, rows(X) + 1); j([i; a.itself(q) + 1; end]) = false;
          j = find(j);
        end
        R(q) = of_lists(t, sort(D(q, i)), sort(D(q, j)), total, c);
      end
      if isfield(a, "query_weights"), R .*= a.query_weights; end
  end
end
function R = of_lists(t, x, z, n, c)  % one query's part of n, of ascending distances of near and far items
  p = numel(x); f = numel(z);
  if strcmp(t.kind, "choices")
    R = c * softmax([x z] / number(t, "temperature"), p);
  elseif strcmp(t.kind, "pairs of lists")
    R = c * sum(loss(t.loss, z' - x, number(t, "margin"))(:));
  elseif strcmp(t.measure, "auc")
    R = 2 * number(t, "C") / (n * p * f) * sum(loss("hinge", z' - x, 1 / 2)(:));
  else
    k = Inf;
    if isfield(t, "k"), k = t.k; end
    worth = gain(t.measure, (1:p)', 0:f, p, k) + 2 / (p * f) * ([0 cumsum(z)] - (0:f) .* x');
    best = zeros(1, f + 1);  % the least worth, near item by near item
    for i = 1:p, best = cummin(best + worth(i, :)); end
    R = number(t, "C") / n * (1 - best(end));
  end
end
function v = penalty(t, a, M)
  if strcmp(t.kind, "sum")
    v = 0; of = each(t.summands);
    for k = 1:numel(of), v += penalty(of{k}, own(sprintf("term%d_", k - 1), a), M); end
    return
  end
  if isfield(t, "prior"), M = M - square(a.prior); end
  switch t.kind
    case "zero", v = 0;
    case "trace", v = trace(M);
    case "frobenius", v = norm(M, "fro");
    case "squared frobenius", v = norm(M, "fro")^2 / 2;
    case "trace norm", v = sum(svd(M));
    case "entrywise", v = sum(abs(M)(:)) - ! t.diagonal * sum(abs(diag(M)));
    case "log det"
      T = square(a.prior_root);
      if isvector(a.prior_root), H = T; else, H = T' * T; end
      [~, U, ~] = lu(full(H * M)); v = trace(H * M) - sum(log(abs(diag(U)))) - rows(M);
    case "budget"
      v = max(0, sum((square(a.spent) .* M)(:)) - number(t, "limit"));
      if v > 0 && ! isfield(t, "weight"), v = Inf; end
    case "quadratic form"
      switch t.of
        case "gram of A", L = (a.gram_of' * a.gram_of) .^ 2;
        case "squared points", L = a.points .^ 2;
        otherwise, L = a.form;
      end
      v = diag(M)' * L * diag(M) / 2;
    otherwise, error("the regularizer %s is not here", t.kind);
  end
  root = 1;
  if isfield(t, "over_root_of"), root = sqrt(t.over_root_of); end
  v *= number(t, "weight") / root;
end
[told, a] = read_all(argv(){1}); problem = told.problem; k = problem.features;
if isfield(problem, "features_of_items"), k = problem.features_of_items; end
M = eye(problem.features, k);
if numel(argv()) > 1, M = square(npy(argv(){2})); end
F = sum(parts(problem.risk, a, M, any(strcmp(problem.cone, {"matrices", "symmetric"}))));
F += penalty(problem.regularizer, a, M) + number(problem, "constant", 0);
if problem.linear, F += sum((square(a.linear) .* M)(:)); end
printf("%.17g\n", F);
