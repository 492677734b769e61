import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { useStreamState, wordsOf } from '../app/connection.js';
import type { Schemas } from '../api/types.js';
import { visible } from '../lib/text.js';
import { Age, Button, Empty, State, type Tone } from '../parts/basics.js';
import { Facts, Frame, More, Shown } from './admin/frame.js';
import { usePages } from './admin/pages.js';

type Entry = Schemas['AuditRecordResponse'];
const FILTERS = [
  ['key', 'Key'],
  ['city', 'City'],
  ['operation', 'Operation'],
  ['request_id', 'Request'],
] as const;
const OUTCOMES = ['accepted', 'refused', 'failed'] as const;
const SINCE = [
  ['', 'ever'],
  ['1h', 'an hour'],
  ['24h', 'a day'],
  ['168h', 'a week'],
] as const;
const TONES: Readonly<Record<Entry['outcome'], Tone>> = { accepted: 'good', refused: 'warn', failed: 'bad' };

/** Who did what with which key, as it happens. */
export function Audit(): ReactNode {
  const search = useSearch({ from: '/audit' });
  const navigate = useNavigate({ from: '/audit' });
  const [open, setOpen] = useState<string>();
  const { since, ...same } = search;
  const given = new URLSearchParams(Object.entries(same).filter((entry): entry is [string, string] => entry[1] !== undefined));
  const stream = `/v0/audit/stream${given.size === 0 ? '' : `?${given}`}`;
  const reading = usePages<Entry>('/v0/audit', { ...same, since, limit: 100 }, { stream });
  const { tone, text } = wordsOf(useStreamState(stream));
  const set = (name: string, value: string): void =>
    void navigate({ search: (before) => ({ ...before, [name]: value === '' ? undefined : value }), replace: true });
  const filtered = Object.values(search).some((value) => value !== undefined);
  return (
    <Frame
      title="Audit"
      wide
      about={
        <span className="flex items-center gap-2">
          Who did what with which key <State tone={tone}>{text}</State>
        </span>
      }
    >
      <div className="grid grid-cols-2 gap-2 md:flex md:flex-wrap">
        {FILTERS.map(([name, label], i) => (
          <input
            key={name}
            {...(i === 0 ? { 'data-filter': true } : {})}
            aria-label={label}
            placeholder={label}
            value={search[name] ?? ''}
            onChange={(event) => set(name, event.target.value)}
            className="field md:max-w-40"
          />
        ))}
        <select
          aria-label="Outcome"
          value={search.outcome ?? ''}
          onChange={(event) => set('outcome', event.target.value)}
          className="field md:max-w-36"
        >
          <option value="">Any outcome</option>
          {OUTCOMES.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <select
          aria-label="Within"
          value={since ?? ''}
          onChange={(event) => set('since', event.target.value)}
          className="field md:max-w-36"
        >
          {SINCE.map(([value, label]) => (
            <option key={value} value={value}>
              {value === '' ? 'Since ever' : `Within ${label}`}
            </option>
          ))}
        </select>
      </div>
      <Shown of={reading}>
        {({ items, more }) => (
          <>
            {items.length === 0 && (
              <Empty title={filtered ? 'Nothing fits these filters' : 'Nobody has changed anything yet'}>
                {filtered && <Button onClick={() => void navigate({ search: {} })}>Clear filters</Button>}
              </Empty>
            )}
            <ol
              aria-label="What was done, the newest first"
              className="divide-y divide-line overflow-hidden rounded-xl border border-line bg-panel empty:hidden"
            >
              {items.map((entry, i) => {
                const id = `${entry.request_id ?? ''} ${entry.time} ${i}`;
                return (
                  <li key={id} data-row={entry.request_id ?? entry.time} tabIndex={-1}>
                    <button
                      type="button"
                      data-open
                      aria-expanded={open === id}
                      onClick={() => setOpen(open === id ? undefined : id)}
                      className="grid w-full grid-cols-[1fr_auto] items-baseline gap-x-3 gap-y-0.5 px-4 py-2 text-left text-sm hover:bg-raised md:grid-cols-[9rem_1fr_9rem_8rem_3rem]"
                    >
                      <span className="truncate font-medium">{visible(entry.actor ?? 'nobody')}</span>
                      <span className="truncate font-mono text-xs max-md:order-3 max-md:col-span-2">
                        {visible(entry.operation ?? entry.path ?? 'several')}
                        {entry.count > 1 && ` × ${entry.count}`}
                      </span>
                      <span className="truncate text-muted max-md:order-4">{visible(entry.city ?? '')}</span>
                      <span className="max-md:order-2">
                        <State tone={TONES[entry.outcome]}>
                          {entry.outcome === 'accepted' ? String(entry.status) : `${entry.status} ${entry.outcome}`}
                        </State>
                      </span>
                      <span className="justify-self-end text-xs text-muted max-md:order-5">
                        <Age at={entry.time} />
                      </span>
                    </button>
                    {open === id && (
                      <div className="border-t border-line bg-ground px-4 py-3">
                        <Facts
                          facts={[
                            ['Request', entry.request_id === null ? undefined : <code className="text-xs">{entry.request_id}</code>],
                            ['When', new Date(entry.time).toLocaleString()],
                            ['Until', entry.last_time === null ? undefined : new Date(entry.last_time).toLocaleString()],
                            [
                              'Path',
                              entry.path === null ? undefined : (
                                <code className="text-xs">{`${entry.method ?? ''} ${visible(entry.path)}`}</code>
                              ),
                            ],
                            [
                              'Of',
                              Object.entries(entry.ids)
                                .map(([name, value]) => `${name} ${visible(value)}`)
                                .join(', '),
                            ],
                            ['Refused with', entry.code],
                            ['Why', entry.reason === null ? undefined : visible(entry.reason)],
                            ['From', entry.address === null ? undefined : visible(entry.address)],
                            ['Key', entry.key_id],
                            [
                              'Session',
                              entry.session_id === null
                                ? undefined
                                : `${visible(entry.session_id)} in ${visible(entry.session_city ?? '')}`,
                            ],
                            ['Goes on as', entry.operation_request_id],
                          ]}
                        />
                        <div className="mt-2 flex flex-wrap gap-2">
                          {entry.actor !== null && <Button onClick={() => set('key', entry.actor!)}>Only {visible(entry.actor)}</Button>}
                          {entry.operation !== null && (
                            <Button onClick={() => set('operation', entry.operation!)}>Only {visible(entry.operation)}</Button>
                          )}
                          {entry.city !== null && <Button onClick={() => set('city', entry.city!)}>Only {visible(entry.city)}</Button>}
                        </div>
                      </div>
                    )}
                  </li>
                );
              })}
            </ol>
            {more && <More onMore={reading.showMore} busy={false} />}
          </>
        )}
      </Shown>
    </Frame>
  );
}
