import { List, type Table } from '../tree.js';
import { concat } from './nodes.js';

/** The keys of `agent_defaults` that agents get where they say nothing themselves. */
const FILLED = ['provider', 'upstream', 'default_sling_formula'];
/** Works for the city itself and takes nothing over. */
const EXEMPT = 'control-dispatcher';

/** An agent with the defaults of its city or pack; further fragments come after its own. */
export function withDefaults(agent: Table, defaults: Table | undefined): Table {
  if (defaults === undefined || agent.text('name') === EXEMPT) return agent;
  const filled = FILLED.flatMap((key) =>
    agent.get(key) === undefined && defaults.get(key) !== undefined ? [[key, defaults.get(key)] as const] : [],
  );
  const more = defaults.get('append_fragments');
  if (!(more instanceof List)) return filled.length === 0 ? agent : agent.with(...filled);
  const own = new Set(agent.texts('append_fragments'));
  if (own.size === 0) return agent.with(...filled, ['append_fragments', more]);
  const added = new List(
    more.items.filter((item) => !('value' in item && own.has(String(item.value)))),
    more.origin,
    more.at,
  );
  return agent.with(...filled, ['append_fragments', concat(agent.get('append_fragments'), added)]);
}
