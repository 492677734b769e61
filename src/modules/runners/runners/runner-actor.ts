/** Who events of processes are by. */
export const RUNNER_ACTOR = 'runner';
