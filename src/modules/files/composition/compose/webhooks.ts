import { List, Table, type Node } from '../tree.js';
import type { Run } from './run.js';

/**
 * Webhooks lead to orders that there are, and one that is public runs no command. Which orders an override turns off, or gives another
 * trigger, is told where orders are read.
 */
export function checkWebhooks(run: Run, city: Table, orders: Node): void {
  const allowed = new Set(city.table('webhooks')?.texts('allow_public'));
  const byName = new Map<string, Table[]>();
  for (const entry of orders instanceof List ? orders.items : [])
    if (entry instanceof Table) byName.set(entry.text('name')!, [...(byName.get(entry.text('name')!) ?? []), entry]);
  const names = [...byName.keys()];
  for (const hook of city.tables('webhook')) {
    const isPublic = hook.table('publication')?.text('visibility') === 'public';
    if (isPublic && !allowed.has(hook.text('name')!))
      run.warn(hook.get('publication')!, `is not reached: webhooks.allow_public of the city does not name "${hook.text('name')!}"`);
    for (const rule of hook.tables('rule')) {
      const order = rule.get('order')!;
      const named = byName.get(rule.text('order')!);
      if (named === undefined)
        run.warn(order, `there is no order "${rule.text('order')!}"${run.suggestions.of(rule.text('order')!, names)}`);
      else if (isPublic && named.some((entry) => entry.table('order')?.get('exec') !== undefined))
        run.error(order, `runs a command, which no public webhook may: "${rule.text('order')!}" has exec`);
    }
  }
}
