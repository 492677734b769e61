import type { ReactNode } from 'react';
import type { Schemas } from '../../api/types.js';
import { dollars, short } from '../admin/units.js';
import { counted } from '../../lib/counted.js';

type Totals = Schemas['UsageTotals'];

export const tokensOf = ({
  input_tokens,
  output_tokens,
  cache_creation_tokens,
}: Pick<Totals, 'input_tokens' | 'output_tokens' | 'cache_creation_tokens'>): number =>
  input_tokens + output_tokens + cache_creation_tokens;

/** Sums, as somebody looks at first. */
export const Tiles = ({ tiles }: { tiles: readonly (readonly [name: string, totals: Totals])[] }): ReactNode => (
  <dl className="grid grid-cols-1 gap-3 sm:grid-cols-3">
    {tiles.map(([name, totals]) => (
      <div key={name} className="rounded-xl border border-line bg-panel px-4 py-3">
        <dt className="text-xs text-muted">{name}</dt>
        <dd>
          <p className="text-xl font-semibold tabular-nums">{dollars(totals.cost_usd_estimate)}</p>
          <p className="text-xs text-muted">
            {short(tokensOf(totals))} tokens, {short(totals.cache_read_tokens)} from cache, {counted(totals.invocations, 'turn')} with usage
            {totals.unpriced > 0 && `, ${totals.unpriced} of them without a price`}
          </p>
        </dd>
      </div>
    ))}
  </dl>
);
