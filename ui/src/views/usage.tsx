import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { get, inCity } from '../api/client.js';
import type { Schemas } from '../api/types.js';
import { visible } from '../lib/text.js';
import { Button, Empty, State } from '../parts/basics.js';
import { plotted } from './admin/buckets.js';
import { Frame, Section, Shown } from './admin/frame.js';
import { Plot } from './admin/plot.js';
import { useRead } from './admin/read.js';
import { download } from './admin/download.js';
import { csv, dollars, short } from './admin/units.js';
import { Tiles, tokensOf } from './usage/tiles.js';
import { MEASURES, RANGES, type Measure } from './usage/ranges.js';

const BY = [
  ['agent', 'by agent'],
  ['model', 'by model'],
  ['session', 'by session'],
] as const;

/** What a city's agents have used: over time, and by whom. */
export function Usage(): ReactNode {
  const { city } = useParams({ from: '/c/$city/usage' });
  const { range = '24h', by = 'agent', of = 'cost' } = useSearch({ from: '/c/$city/usage' });
  const navigate = useNavigate({ from: '/c/$city/usage' });
  const measure: Measure = MEASURES[of] ?? MEASURES.cost!;
  const totals = useRead(`usage ${city}`, (signal) => get<Schemas['UsageBody']>(inCity(city, 'usage'), { signal }), {
    city,
    on: /^worker\.operation$/,
    gatherMs: 3_000,
  });
  const series = useRead(
    `usage ${city} ${range} ${by}`,
    (signal) => get<Schemas['UsageSeriesBody']>(inCity(city, 'usage/series'), { query: { since: range, by }, signal }),
    { city, on: /^worker\.operation$/, gatherMs: 3_000 },
  );
  const set = (name: 'range' | 'by' | 'of', value: string): void =>
    void navigate({ search: (before) => ({ ...before, [name]: value }), replace: true });
  const exported = (points: readonly Schemas['UsagePoint'][]): void =>
    download(
      `usage-${city}-${range}-${by}.csv`,
      csv([
        [
          'at',
          by,
          'cost_usd_estimate',
          'input_tokens',
          'output_tokens',
          'cache_read_tokens',
          'cache_creation_tokens',
          'turns',
          'wall_seconds',
        ],
        ...points.map((point) => [
          point.at,
          point.others === true ? 'all others' : (point.of ?? ''),
          point.cost_usd_estimate,
          point.input_tokens,
          point.output_tokens,
          point.cache_read_tokens,
          point.cache_creation_tokens,
          point.invocations,
          point.wall_seconds,
        ]),
      ]),
    );
  return (
    <Frame
      title="Usage"
      city={city}
      about="Tokens and cost of turns that have ended"
      actions={
        <>
          <Choice label="Within" value={range} choices={RANGES} onChange={(value) => set('range', value)} />
          <Choice label="Told apart" value={by} choices={BY} onChange={(value) => set('by', value)} />
          <Choice
            label="What"
            value={of}
            choices={Object.entries(MEASURES).map(([name, { label }]) => [name, label])}
            onChange={(value) => set('of', value)}
          />
        </>
      }
    >
      <Shown of={totals}>
        {(usage) => (
          <>
            {!usage.recording && (
              <p className="text-sm">
                <State tone="warn">it is not being counted</State>
              </p>
            )}
            <Tiles
              tiles={[
                ['Last hour', usage.recent],
                ['Today', usage.today],
                ...(usage.last_24h === undefined ? [] : ([['24 hours', usage.last_24h]] as const)),
              ]}
            />
          </>
        )}
      </Shown>
      <Shown of={series}>
        {(body) => {
          const plot = plotted(body.points, body, measure.of);
          const rows = plot.names
            .map((name, i) => ({ name, sum: plot.buckets.reduce((sum, { values }) => sum + (values[i] ?? 0), 0) }))
            .filter(({ sum }) => sum > 0);
          const all = rows.reduce((sum, row) => sum + row.sum, 0);
          return (
            <>
              <Section
                title={`${measure.label} ${BY.find(([name]) => name === by)?.[1] ?? ''}`}
                actions={<Button onClick={() => exported(body.points)}>CSV</Button>}
              >
                {body.points.length === 0 ? (
                  <Empty title="No turn has ended in this time" />
                ) : (
                  <div className="rounded-xl border border-line bg-panel p-3">
                    <Plot of={plot} label={measure.label} format={measure.format} />
                  </div>
                )}
                {body.partial === true && (
                  <p className="text-sm text-warn">Not all of it: {visible((body.partial_reasons ?? []).join(', '))}</p>
                )}
              </Section>
              {rows.length > 0 && (
                <table className="w-full text-left text-sm">
                  <caption className="sr-only">{measure.label} in all</caption>
                  <thead className="text-xs text-muted">
                    <tr>
                      <th scope="col" className="py-1 font-medium">
                        {by[0]?.toUpperCase() + by.slice(1)}
                      </th>
                      <th scope="col" className="py-1 text-right font-medium">
                        {measure.label}
                      </th>
                      <th scope="col" className="py-1 text-right font-medium">
                        Share
                      </th>
                    </tr>
                  </thead>
                  <tbody className="divide-y divide-line border-y border-line">
                    {rows.map(({ name, sum }) => (
                      <tr key={name} data-row={name} tabIndex={-1}>
                        <td className="words py-1.5">{name === '' ? 'not said' : visible(name)}</td>
                        <td className="py-1.5 text-right tabular-nums">{measure.format(sum)}</td>
                        <td className="py-1.5 text-right tabular-nums text-muted">
                          {all === 0 ? '' : `${((sum / all) * 100).toFixed(0)} %`}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              )}
            </>
          );
        }}
      </Shown>
      <Shown of={totals}>
        {({ by_agent = [] }) =>
          by_agent.length === 0 ? null : (
            <Section title="Agents, the last 24 hours">
              <div tabIndex={0} role="group" aria-label="Agents, the last 24 hours" className="overflow-x-auto">
                <table className="w-full text-left text-sm">
                  <thead className="text-xs text-muted">
                    <tr>
                      {['Agent', 'Cost', 'Tokens', 'From cache', 'Turns with usage'].map((name, i) => (
                        <th key={name} scope="col" className={`py-1 pr-4 font-medium ${i === 0 ? '' : 'text-right'}`}>
                          {name}
                        </th>
                      ))}
                    </tr>
                  </thead>
                  <tbody className="divide-y divide-line border-y border-line">
                    {by_agent.map((agent) => (
                      <tr key={agent.agent}>
                        <td className="words py-1.5 pr-4">{visible(agent.agent)}</td>
                        <td className="py-1.5 pr-4 text-right tabular-nums">
                          {dollars(agent.cost_usd_estimate)}
                          {agent.unpriced > 0 && (
                            <span className="text-muted" title="turns without a price">
                              {' '}
                              + {agent.unpriced} unpriced
                            </span>
                          )}
                        </td>
                        <td className="py-1.5 pr-4 text-right tabular-nums">{short(tokensOf(agent))}</td>
                        <td className="py-1.5 pr-4 text-right tabular-nums">{short(agent.cache_read_tokens)}</td>
                        <td className="py-1.5 pr-4 text-right tabular-nums">{agent.invocations}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </Section>
          )
        }
      </Shown>
    </Frame>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly (readonly [value: string, label: string])[];
  readonly onChange: (value: string) => void;
}

const Choice = ({ label, value, choices, onChange }: ChoiceProps): ReactNode => (
  <select aria-label={label} value={value} onChange={(event) => onChange(event.target.value)} className="field w-auto">
    {choices.map(([one, name]) => (
      <option key={one} value={one}>
        {name}
      </option>
    ))}
  </select>
);
