import { List, Table, type Node } from '../tree.js';
import { LIMITS } from './limits.js';
import type { Run } from './run.js';

/**
 * Webhooks lead to orders that there are, and one that is public runs no command. Which orders an override turns off, or gives another
 * trigger, is told where orders are read.
 */
export function checkWebhooks(run: Run, city: Table, orders: Node): void {
  const allowed = new Set(city.table('webhooks')?.texts('allow_public'));
  const hooks = city.tables('webhook');
  if (hooks.length > LIMITS.webhooks) return run.error(hooks[LIMITS.webhooks]!, `there are more than ${LIMITS.webhooks} webhooks`);
  const runsCommand = commandsByName(orders);
  const names = [...runsCommand.keys()];
  for (const hook of hooks) {
    const isPublic = hook.table('publication')?.text('visibility') === 'public';
    if (isPublic && !allowed.has(hook.text('name')!))
      run.warn(hook.get('publication')!, `is not reached: webhooks.allow_public of the city does not name "${hook.text('name')!}"`);
    for (const rule of hook.tables('rule')) {
      const order = rule.get('order')!;
      const runs = runsCommand.get(rule.text('order')!);
      if (runs === undefined)
        run.warn(order, `there is no order "${rule.text('order')!}"${run.suggestions.of(rule.text('order')!, names)}`);
      else if (isPublic && runs) run.error(order, `runs a command, which no public webhook may: "${rule.text('order')!}" has exec`);
    }
  }
}

/** Whether any order of a name runs a command, asked once for all rules: there may be thousands of both. */
function commandsByName(orders: Node): Map<string, boolean> {
  const found = new Map<string, boolean>();
  for (const entry of orders instanceof List ? orders.items : []) {
    if (!(entry instanceof Table)) continue;
    const name = entry.text('name')!;
    found.set(name, found.get(name) === true || entry.table('order')?.get('exec') !== undefined);
  }
  return found;
}
