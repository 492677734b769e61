/** Signals about sessions: each says only "look again". */

/** Something of a session's log or state has changed. */
export function logTopic(sessionPk: number): string {
  return `s${sessionPk}`;
}

export function sessionOfTopic(topic: string): number | undefined {
  const pk = topic.startsWith('s') ? Number(topic.slice(1)) : NaN;
  return Number.isSafeInteger(pk) ? pk : undefined;
}

/** A runner has something to do with a session: a stop, a message, an answer, a command. */
export function runnerTopic(runnerId: string, sessionPk: number): string {
  return `r${runnerId}.${sessionPk}`;
}

/** Of which of its sessions a runner is to look; `all` where that is not said, as by the release before. */
export function sessionsOfRunner(topics: Iterable<string>, runnerId: string): 'all' | number[] {
  const topic = `r${runnerId}`;
  const pks: number[] = [];
  for (const name of topics) {
    if (!name.startsWith(topic)) continue;
    if (name.length === topic.length) return 'all';
    if (name[topic.length] === '.') pks.push(Number(name.slice(topic.length + 1)));
  }
  return pks;
}

/** Some session waits for a runner to start it. */
export const WANTED_TOPIC = 'wanted';
