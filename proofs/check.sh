#!/bin/sh
# Compiles the proofs, and fails on any error, on a proof that is left open, on a theorem whose assumptions are not printed,
# and on an assumption that is not one of the four that Coq's real numbers, their roots and logarithms are built on.
set -eu
cd "$(dirname "$0")"
command -v coqc > /dev/null || { echo "make prove needs Coq: install Debian's package coq (apt-get install coq)"; exit 1; }

files="Sums.v Spectra.v Determinants.v Losses.v Shares.v Slopes.v Choices.v Cones.v Programs.v Rankings.v"
allowed="ClassicalDedekindReals.sig_forall_dec ClassicalDedekindReals.sig_not_dec
    FunctionalExtensionality.functional_extensionality_dep Classical_Prop.classic"

if grep -nwE 'Admitted|admit|give_up|Axiom|Axioms|Parameter|Parameters|Conjecture' ./*.v; then
    echo "proofs: left open or assumed, see above"; exit 1
fi
for file in $files; do
    for name in $(sed -nE 's/^ *Theorem ([A-Za-z0-9_]+).*/\1/p' "$file"); do
        grep -qx "Print Assumptions ${file%.v}.$name." Axioms.v || { echo "proofs: Axioms.v does not print $name of $file"; exit 1; }
    done
done

for file in $files; do coqc -q -Q . Certificates "$file"; done
printed=$(coqc -q -Q . Certificates Axioms.v)
# Each theorem prints one of these two lines; names of assumptions begin a line, what they say is indented.
proven=$(echo "$printed" | grep -cxE 'Axioms:|Closed under the global context')
[ "$proven" -eq "$(grep -c '^Print Assumptions' Axioms.v)" ] || { echo "proofs: Coq printed $proven theorems only"; exit 1; }
assumed=$(echo "$printed" | grep -vxE 'Axioms:|Closed under the global context|  .*' | sed 's/ .*//' | sort -u)
for name in $assumed; do
    case " $(echo $allowed) " in *" $name "*) ;; *) echo "proofs: $name is assumed"; exit 1 ;; esac
done
echo "$proven theorems proven; assumed, by Coq's real numbers:" $assumed
