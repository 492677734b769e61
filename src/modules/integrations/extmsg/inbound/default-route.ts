import type { CityConfig } from '../../../files/composition/city-config.js';
import { identitiesOf } from '../bindings/targets.service.js';
import type { Conversation } from '../conversations/conversation.js';

interface Route {
  readonly provider: string;
  readonly account_id?: string;
  readonly agent: string;
}

/**
 * The configured name that what comes of an account goes to where nobody has it. A route of the account comes before those of the whole
 * provider, of which the last counts. `unresolved` is a route whose agent has no session of its own.
 */
export function defaultRoute(config: CityConfig, { provider, account_id }: Conversation): { identity?: string; unresolved?: string } {
  const { default_route: all = [] } = (config.extmsg ?? {}) as { readonly default_route?: readonly Route[] };
  const own = all.filter((route) => route.provider.trim().toLowerCase() === provider);
  const exact = own.find((route) => (route.account_id ?? '').trim() === account_id);
  const route = exact ?? own.filter((each) => (each.account_id ?? '').trim() === '').at(-1);
  if (route === undefined) return {};
  const identities = identitiesOf(config, route.agent);
  return identities.length === 1 ? { identity: identities[0]! } : { unresolved: route.agent };
}
