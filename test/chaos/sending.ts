import type { Attempt } from './attempt.js';
import { isProblem } from './check-connections.js';
import type { Answer } from './http.js';
import type { Random } from './random.js';

/** What an answer says about its attempt. Who gets none, or a 5xx, does not know whether it happened. */
export function outcomeOf(answer: Answer | undefined): Pick<Attempt, 'outcome' | 'status' | 'body' | 'problem'> {
  if (answer === undefined) return { outcome: 'unknown' };
  const { status, body, contentType } = answer;
  if (status >= 200 && status < 300) return { outcome: 'acknowledged', status, body };
  const problem = contentType.startsWith('application/problem+json') && isProblem(body, status);
  return { outcome: status >= 500 || status < 200 ? 'unknown' : 'refused', status, body, problem };
}

/** Under a key the same request goes out several times, partly at once, to whichever replicas. */
export async function repeated<A extends Attempt>(send: () => Promise<A>, key: string | undefined, random: Random): Promise<A[]> {
  if (key === undefined) return [await send()];
  const attempts: A[] = await Promise.all(Array.from({ length: random.int(1, 3) }, send));
  for (let i = 0; i < 4 && !attempts.some((a) => a.outcome === 'acknowledged') && attempts.at(-1)!.outcome === 'unknown'; i++) {
    await new Promise((resolve) => setTimeout(resolve, random.int(50, 500)));
    attempts.push(await send());
  }
  if (random.chance(0.5)) attempts.push(await send());
  return attempts;
}
