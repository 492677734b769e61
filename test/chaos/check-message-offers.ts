import { grouped } from './history-parts.js';
import type { DeliveryEnd, MessagesHistory, Offer, OfferAnswer } from './messages-history.js';
import type { Violations } from './violations.js';

const isFinal = ({ said }: OfferAnswer): boolean => said !== 'later';

/** What connected clients are given, and what they have said: one answer counts, and then nobody is given it, or waits for it, any more. */
export function checkMessageOffers(history: MessagesHistory, violations: Violations): void {
  const own = history.deliveries.filter(({ direction }) => direction === 'outbound');
  const rows = new Map(own.map((row) => [row.id, row]));
  const offers = grouped(history.offers, ({ delivery }) => delivery);
  const answers = grouped(history.answers, ({ delivery }) => delivery);
  for (const answer of history.answers) {
    if (answer.status === 500) violations.add('no internal errors', 'an acknowledgement was answered with 500', answer);
    if (answer.problem === false) violations.add('no internal errors', 'an acknowledgement was refused without a problem', answer);
  }
  for (const [id, given] of offers) {
    const row = rows.get(id);
    if (row === undefined) {
      violations.add('nothing uncommitted', `a client was given ${id}, which is not stored`, ...given);
      continue;
    }
    for (const offer of given)
      if (offer.text !== row.body || offer.key !== row.key || offer.conversation !== row.conversation)
        violations.add('one id', `a client was given ${id} as something else`, offer, row);
    answered(row, given, answers.get(id) ?? [], violations);
  }
  inOrder(own, offers, answers, violations);
}

function answered(row: DeliveryEnd, given: readonly Offer[], answers: readonly OfferAnswer[], violations: Violations): void {
  const counted = answers.filter((answer) => isFinal(answer) && answer.outcome === 'acknowledged');
  const [first] = counted;
  if (first === undefined) return;
  if (new Set(counted.map(({ claim }) => claim)).size > 1)
    violations.add('answered once', `${row.id} was answered under several claims`, ...counted);
  const expected = first.said === 'taken' ? 'delivered' : 'failed';
  if (row.state !== expected) violations.add('one final state', `${row.id} was answered as ${expected}, and is ${row.state}`, first, row);
  // What a paused replica had given away before comes late.
  const late = given.filter(({ at, attempt, claim }) => claim !== first.claim && at > first.to && attempt > first.attempt);
  if (late.length > 0) violations.add('one final state', `${row.id} was given to somebody after it was answered`, first, ...late);
}

/** Of a conversation the next comes once the one before has been answered. */
function inOrder(
  own: readonly DeliveryEnd[],
  offers: ReadonlyMap<string, readonly Offer[]>,
  answers: ReadonlyMap<string, readonly OfferAnswer[]>,
  violations: Violations,
): void {
  for (const rows of grouped(own, ({ conversation }) => conversation).values()) {
    const line = rows.filter(({ id }) => offers.has(id)).sort((a, b) => a.pk - b.pk);
    for (const [n, row] of line.entries()) {
      const next = line[n + 1];
      // What is fenced ends without an answer.
      if (next === undefined || row.code === 'fenced') continue;
      const begun = Math.min(...offers.get(next.id)!.map(({ at }) => at));
      const said = Math.min(...(answers.get(row.id) ?? []).filter(isFinal).map(({ from }) => from));
      if (said > begun) violations.add('in order', `${next.id} was given away before ${row.id} was answered`, row, next);
    }
  }
}
