import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Schemas } from '../api/types.js';
import { visible } from '../lib/text.js';
import { Button, Empty } from '../parts/basics.js';
import { Frame, Shown } from './admin/frame.js';
import { readAll } from '../api/pages.js';
import { useRead } from './admin/read.js';
import { download } from './admin/download.js';
import { csv, dollars, short } from './admin/units.js';
import { Tiles, tokensOf } from './usage/tiles.js';

type Totals = Schemas['UsageTotals'];
const EVERY_MS = 15_000;

function sumOf(all: readonly Totals[]): Totals {
  const sum: Record<keyof Totals, number> = {
    input_tokens: 0,
    output_tokens: 0,
    cache_read_tokens: 0,
    cache_creation_tokens: 0,
    invocations: 0,
    unpriced: 0,
    compute_facts: 0,
    cost_usd_estimate: 0,
    wall_seconds: 0,
  };
  for (const one of all) for (const name of Object.keys(sum) as (keyof Totals)[]) sum[name] += one[name];
  return sum;
}

/** What all cities have used. */
export function AllUsage(): ReactNode {
  const { q = '' } = useSearch({ from: '/usage' });
  const navigate = useNavigate({ from: '/usage' });
  const reading = useRead('usage', async (signal) => (await readAll<Schemas['CityUsage']>('/v0/usage', signal)).items, {
    everyMs: EVERY_MS,
  });
  return (
    <Frame
      title="Usage of all cities"
      about="Tokens and cost of turns that have ended"
      actions={
        <>
          <input
            data-filter
            aria-label="Filter cities by name"
            placeholder="Filter"
            value={q}
            onChange={(event) => void navigate({ search: event.target.value === '' ? {} : { q: event.target.value }, replace: true })}
            className="field w-40"
          />
          <Button
            disabled={reading.data === undefined}
            onClick={() =>
              download(
                'usage.csv',
                csv([
                  ['city', 'today_usd', 'today_tokens', 'day_usd', 'day_tokens', 'hour_usd', 'hour_tokens'],
                  ...(reading.data ?? []).map(({ city, today, last_24h, recent }) => [
                    city,
                    today.cost_usd_estimate,
                    tokensOf(today),
                    last_24h.cost_usd_estimate,
                    tokensOf(last_24h),
                    recent.cost_usd_estimate,
                    tokensOf(recent),
                  ]),
                ]),
              )
            }
          >
            CSV
          </Button>
        </>
      }
    >
      <Shown of={reading}>
        {(cities) => {
          const rows = cities
            .filter(({ city }) => city.toLowerCase().includes(q.toLowerCase()))
            .sort(
              (a, b) =>
                b.last_24h.cost_usd_estimate - a.last_24h.cost_usd_estimate ||
                tokensOf(b.last_24h) - tokensOf(a.last_24h) ||
                a.city.localeCompare(b.city),
            );
          return (
            <>
              <Tiles
                tiles={[
                  ['Last hour', sumOf(rows.map(({ recent }) => recent))],
                  ['Today', sumOf(rows.map(({ today }) => today))],
                  ['24 hours', sumOf(rows.map(({ last_24h }) => last_24h))],
                ]}
              />
              {rows.length === 0 ? (
                <Empty title={cities.length === 0 ? 'There is no city yet' : `0 of ${cities.length}`} />
              ) : (
                <table className="w-full text-left text-sm">
                  <thead className="text-xs text-muted">
                    <tr>
                      {['City', 'Last hour', 'Today', '24 hours', 'Tokens'].map((name, i) => (
                        <th
                          key={name}
                          scope="col"
                          className={`py-1 pr-4 font-medium ${i === 0 ? '' : 'text-right'} ${i === 1 ? 'max-md:hidden' : ''}`}
                        >
                          {name}
                        </th>
                      ))}
                    </tr>
                  </thead>
                  <tbody className="divide-y divide-line border-y border-line">
                    {rows.map(({ city, recent, today, last_24h }) => (
                      <tr key={city} data-row={city} tabIndex={-1}>
                        <td className="words py-1.5 pr-4">
                          <Link data-open to="/c/$city/usage" params={{ city }} className="font-medium hover:underline">
                            {visible(city)}
                          </Link>
                        </td>
                        <td className="py-1.5 pr-4 text-right tabular-nums max-md:hidden">{dollars(recent.cost_usd_estimate)}</td>
                        <td className="py-1.5 pr-4 text-right tabular-nums">{dollars(today.cost_usd_estimate)}</td>
                        <td className="py-1.5 pr-4 text-right tabular-nums">{dollars(last_24h.cost_usd_estimate)}</td>
                        <td className="py-1.5 pr-4 text-right tabular-nums">{short(tokensOf(last_24h))}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              )}
            </>
          );
        }}
      </Shown>
    </Frame>
  );
}
