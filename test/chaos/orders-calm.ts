import type { OrdersClients } from './orders-clients.js';
import { TIMED } from './orders-city.js';
import { readLeft } from './orders-final.js';
import type { ChaosPostgres } from './servers.js';
import type { Violation } from './violations.js';
import { left } from './waiting.js';

/** Only a hang meets it: a lost worker is noticed after its lease (10 s), and then what has waited is carried out one by one. */
const CALM_MS = 180_000;
const ALIVE = `
  select scoped_name as name from order_firings where created_at > $1 and cause = any('{cooldown,cron,condition}') and state = 'done'`;
/** A worker follows the file of the city a moment after the answer: until then one more may be fired. */
const ON = `select scoped_name as name from orders where enabled and scoped_name = any($1)`;

/** After all harm: what comes by itself still does, and everything that was accepted has an end. */
export async function calm(
  postgres: ChaosPostgres,
  database: string,
  clients: OrdersClients,
  move: () => Promise<void>,
): Promise<Violation[]> {
  const violations: Violation[] = [];
  const [{ now }] = (await postgres.query<{ now: Date }>('select clock_timestamp() as now', [], database)) as [{ now: Date }];
  await move();
  const asleep = await left(CALM_MS, async () => {
    const fired = new Set((await postgres.query<{ name: string }>(ALIVE, [now], database)).map(({ name }) => name));
    return TIMED.filter(({ name }) => !fired.has(name));
  });
  for (const { name } of asleep) violations.push({ property: 'order alive', message: `${name} is not fired any more`, entries: [] });
  const on = await clients.disable();
  if (on.length > 0) violations.push({ property: 'order alive', message: 'orders cannot be switched off', entries: on });
  const names = TIMED.map(({ name }) => name);
  const following = await left(CALM_MS, () => postgres.query<{ name: string }>(ON, [names], database));
  for (const { name } of following) violations.push({ property: 'order alive', message: `${name} stays on`, entries: [] });
  const open = await left(CALM_MS, () => readLeft(postgres, database));
  if (open.length > 0)
    violations.push({
      property: 'ends once',
      message: `${open.length} have not come to an end ${CALM_MS} ms after healing`,
      entries: open,
    });
  return violations;
}
