/** Runs in the worker: a trainer, and whether it goes on. */

/** Milliseconds of training between two looks at the requests. */
const PIECE = 40;

/**
 * @typedef {object} Run
 * @property {string} name what is trained: "mnist" or "table"
 * @property {any} trainer
 * @property {string[]} notes of how its device was chosen
 * @property {boolean} isGoing
 * @property {boolean} isDone
 * @property {number} steps taken; one more when it is done, as the model that is kept may be another one then
 */

/**
 * @param {string} name
 * @param {any} trainer
 * @param {string[]} notes
 * @returns {Run}
 */
export const begun = (name, trainer, notes) => ({ name, trainer, notes, isGoing: true, isDone: false, steps: 0 });

/**
 * Trains for a moment. Gives what happened, or the error that ended the run.
 * @param {Run} run
 */
export async function step(run) {
  try {
    const event = JSON.parse(await run.trainer.advance(PIECE));
    run.isDone = event.done !== null;
    run.steps = event.steps + Number(run.isDone);
    run.isGoing = run.isGoing && !run.isDone;
    const refused = [...new Set([...run.notes, ...run.trainer.notes()])];
    return { ...event, engine: run.trainer.engine(), device: run.trainer.device(), network: run.trainer.network(), refused };
  } catch (error) {
    run.isGoing = false;
    run.isDone = true;
    return { error: error?.message ?? String(error) };
  }
}
