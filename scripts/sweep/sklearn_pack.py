"""scikit-learn: an MLPClassifier a member under joblib, on all cores. Prints the best validation accuracy of the members.

usage: sklearn_pack.py PACK
"""

import sys
import warnings

from joblib import Parallel, delayed
from members import PACKS, data, rates
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

pack = PACKS[sys.argv[1]]
(x, y), (valid_x, valid_y) = data(pack)


def member(rate):
    model = MLPClassifier(
        pack.hidden, solver=pack.optimizer, learning_rate_init=float(rate), batch_size=pack.batch, max_iter=pack.epochs,
        alpha=0, momentum=0, nesterovs_momentum=False, n_iter_no_change=pack.epochs + 1, random_state=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(x, y).score(valid_x, valid_y)


print(max(Parallel(n_jobs=-1)(delayed(member)(rate) for rate in rates(pack))))
