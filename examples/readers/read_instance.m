% Reads an exported instance, and prints its objective at the Euclidean metric:
%     octave-cli --no-history read_instance.m FOLDER/NAME
% It knows listed comparisons, pairs of lists and rankings by AUC with hinges and logistic losses, and the trace
% and Frobenius norms without a prior; docs/instances-for-everybody.md has the rest.
1;
function A = npy(file)
  f = fopen(file); head = fread(f, 10); text = fread(f, head(9) + 256 * head(10), "*char")';
  found = regexp(text, "'descr': '.(..)'.*'shape': \\(([^)]*)\\)", "tokens"){1};
  types = struct("f8", "double", "i8", "int64", "i4", "int32", "u1", "uint8");
  A = fread(f, Inf, types.(found{1})); fclose(f);
  shape = str2double(strsplit(regexprep(found{2}, ",$", ""), ","));
  if numel(shape) > 1, A = reshape(A, fliplr(shape))'; end
end
function x = number(text)
  parts = str2double(strsplit(text, "/")); x = parts(1) / prod(parts(2:end));
end
function l = loss(kind, s, mu)
  switch kind
    case "hinge", l = max(0, mu - s);
    case "logistic", l = max(0, -s) + log1p(exp(-abs(s)));
    otherwise, error("the loss %s is not here", kind);
  end
end
name = argv(){1}; problem = jsondecode(fileread([name ".json"])).problem;
folder = tempname(); files = unzip([name ".npz"], folder);
has = @(array) any(strcmp([array ".npy"], files)); get = @(array) npy([folder "/" array ".npy"]);
risk = problem.risk; omega = problem.regularizer; X = get("points"); R = 0;
assert(any(strcmp(problem.cone, {"psd", "diagonal"})) && ! problem.linear && ! isfield(problem, "constant"));
assert(! isfield(risk, "short") && ! any(cellfun(has, {"targets", "comparison_weights", "query_weights"})));
d = @(U, V) sum((U - V) .^ 2, 2);  % M is the identity
if isfield(risk, "terms") && ! has("codes")
  if has("triplets")
    T = get("triplets") + 1; s = d(X(T(:, 1), :), X(T(:, 3), :)) - d(X(T(:, 1), :), X(T(:, 2), :));
  else
    T = get("pairs") + 1; s = d(X(T(:, 1), :), X(T(:, 2), :));
  end
  for n = 1:numel(risk.terms)
    t = risk.terms(n); u = t.sign * s(get("terms") == n - 1);
    R += number(t.weight) * sum(loss(t.loss, u, number(t.margin)));
  end
elseif strcmp(risk.kind, "pairs of lists") || strcmp(risk.measure, "auc")
  near = get("near") + 1; ends = [0; get("near_stops")]; n = numel(ends) - 1;
  if has("queries"), Q = get("queries"); else, Q = X(get("anchors") + 1, :); end
  if has("far"), far = get("far") + 1; stops = [0; get("far_stops")]; else, itself = get("itself") + 1; end
  for q = 1:n
    i = near(ends(q) + 1:ends(q + 1));
    if has("far"), j = far(stops(q) + 1:stops(q + 1)); else, j = setdiff(1:rows(X), [i; itself(q)]); end
    s = d(Q(q, :), X(j, :))' - d(Q(q, :), X(i, :));
    if strcmp(risk.kind, "rankings")
      R += 2 * number(risk.C) / (n * numel(s)) * sum(loss("hinge", s, 1 / 2)(:));
    elseif strcmp(risk.loss, "hinge")
      R += number(risk.weight) * sum(loss("hinge", s, number(risk.margin))(:));
    else
      R += number(risk.weight) * sum(loss(risk.loss, s, 0)(:));
    end
  end
else
  error("the risk %s is not here", risk.kind);
end
sizes = struct("trace", problem.features, "frobenius", sqrt(problem.features), "squaredfrobenius", problem.features / 2);
weight = number(omega.weight); assert(! isfield(omega, "prior"));
if isfield(omega, "over_root_of"), weight /= sqrt(omega.over_root_of); end
printf("%.17g\n", R + weight * sizes.(strrep(omega.kind, " ", "")));
confirm_recursive_rmdir(false); rmdir(folder, "s");
