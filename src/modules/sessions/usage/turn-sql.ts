import { sql, type RawBuilder } from 'kysely';
import { MAX_COST_USD } from '../../../platform/runtime/limits.js';
import { MAX_USD_PER_1M } from '../../files/composition/formats/city-keys.js';
import type { Price } from './prices.js';

/** The SQL of what turns have used. Turns that are still going on count when they have ended. */
export const pricesJson = (prices: readonly Price[]): RawBuilder<unknown> => sql`${JSON.stringify(prices)}::jsonb`;

/** A time zone, asked once a statement: nobody's answer fails because this server does not know it. */
export const knownZone = (zone: string): RawBuilder<string> => sql<string>`(select known_zone(${zone}))`;

/** When the day began in a time zone. */
export const midnight = (zone: RawBuilder<unknown>): RawBuilder<Date> =>
  sql<Date>`(date_trunc('day', now() at time zone ${zone}) at time zone ${zone})`;

const capped = (column: string, most: number): RawBuilder<unknown> =>
  sql`case when ${sql.ref(column)} > ${sql.lit(most)} then ${sql.lit(most)} else ${sql.ref(column)} end`;
const price = (column: string): RawBuilder<unknown> => sql`${capped(`p.${column}`, MAX_USD_PER_1M)} as ${sql.ref(column)}`;

/**
 * Turns with what they cost: as the agent said, else by the price of the provider that they were with, else by that of the preset behind it. `prices` is JSON.
 * Costs and prices from before they had a limit count as it, so that sums stay finite.
 */
export function turns(where: RawBuilder<unknown>, prices: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select s.id, s.session_name as session, coalesce(s.agent, s.provider) as agent, coalesce(t.model, l.model, '') as model, t.ended_at, t.reported,
      t.input_tokens, t.output_tokens, t.cache_read_tokens, t.cache_creation_tokens,
      t.input_tokens + t.output_tokens + t.cache_read_tokens + t.cache_creation_tokens as tokens,
      extract(epoch from t.ended_at - t.started_at)::float8 as seconds,
      coalesce(${capped('t.cost_usd', MAX_COST_USD)}, (t.input_tokens * p.prompt + t.output_tokens * p.completion
        + t.cache_read_tokens * p.cache_read + t.cache_creation_tokens * p.cache_creation) / 1e6) as cost
    from session_turns t join sessions s on s.pk = t.session_pk join session_logs l on l.session_pk = t.session_pk
    cross join lateral (select coalesce(t.provider, s.provider) as provider, case when t.provider is null then s.preset else t.preset end as preset) ran
    left join lateral (
      select ${price('prompt')}, ${price('completion')}, ${price('cache_read')}, ${price('cache_creation')} from jsonb_to_recordset(${prices})
        as p(provider text, model text, prompt float8, completion float8, cache_read float8, cache_creation float8)
      where p.model = coalesce(t.model, l.model) and p.provider in (ran.provider, ran.preset)
      order by p.provider = ran.provider desc limit 1) p on t.cost_usd is null
    where ${where}`;
}

export function totals(where: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`json_build_object('invocations', count(*) filter (where ${where} and t.reported), 'compute_facts', count(*) filter (where ${where}),
    'wall_seconds', coalesce(sum(t.seconds) filter (where ${where}), 0), ${sums(where)})`;
}

export function sums(where: RawBuilder<unknown>): RawBuilder<unknown> {
  const sum = (column: string): RawBuilder<unknown> => sql`coalesce(sum(${sql.ref(`t.${column}`)}) filter (where ${where}), 0)`;
  return sql`'input_tokens', ${sum('input_tokens')}, 'output_tokens', ${sum('output_tokens')},
    'cache_read_tokens', ${sum('cache_read_tokens')}, 'cache_creation_tokens', ${sum('cache_creation_tokens')},
    'cost_usd_estimate', ${sum('cost')}, 'unpriced', ${unpriced(where)}`;
}

export const unpriced = (where: RawBuilder<unknown>): RawBuilder<number> =>
  sql<number>`count(*) filter (where ${where} and t.cost is null and t.tokens > 0)`;
