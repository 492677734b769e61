/** Signals about sessions: each says only "look again". */

/** Something of a session's log or state has changed. */
export function logTopic(sessionPk: number): string {
  return `s${sessionPk}`;
}

export function sessionOfTopic(topic: string): number | undefined {
  const pk = topic.startsWith('s') ? Number(topic.slice(1)) : NaN;
  return Number.isSafeInteger(pk) ? pk : undefined;
}

/** A runner has something to do: a stop, a message, an answer, a command. */
export function runnerTopic(runnerId: string): string {
  return `r${runnerId}`;
}

/** Some session waits for a runner to start it. */
export const WANTED_TOPIC = 'wanted';
