/** Signals about sessions: each says only "look again". */

/** Something of a session's log or state has changed. */
export function logTopic(sessionPk: number): string {
  return `s${sessionPk}`;
}

export function sessionOfTopic(topic: string): number | undefined {
  const pk = topic.startsWith('s') ? Number(topic.slice(1)) : NaN;
  return Number.isSafeInteger(pk) ? pk : undefined;
}

/**
 * The runner of a session has something to do: a stop, a message, an answer, a command. It does not say which runner: of many sessions that change
 * at once the signals have to fit into one notification, and each runner knows what it has.
 */
export function toldTopic(sessionPk: number): string {
  return `t${sessionPk}`;
}

/** Sessions whose runners have something to do; `all` where it is said of all that this runner has, as by the release before. */
export function toldSessions(topics: Iterable<string>, runnerId: string): 'all' | number[] {
  const pks: number[] = [];
  for (const name of topics) {
    if (name === `r${runnerId}`) return 'all';
    const pk = name.startsWith('t') ? Number(name.slice(1)) : NaN;
    if (Number.isSafeInteger(pk)) pks.push(pk);
  }
  return pks;
}

/** Some session waits for a runner to start it. */
export const WANTED_TOPIC = 'wanted';
