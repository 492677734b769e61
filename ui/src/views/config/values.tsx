import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { get, inCity } from '../../api/client.js';
import type { Schemas } from '../../api/types.js';
import { counted } from '../../lib/counted.js';
import { useLeaving } from '../../lib/leaving.js';
import { visible } from '../../lib/text.js';
import { Button, Empty } from '../../parts/basics.js';
import { Shown } from '../admin/frame.js';
import { useRead } from '../admin/read.js';

type Value = Schemas['ConfigValue'];
const PAGE = 500;
const MOST = 5_000;
const TYPING_MS = 300;

/** Every value that counts, with the file and the key that say it. */
export function ConfigValues({ city }: { city: string }): ReactNode {
  const { path = '', file = '' } = useSearch({ from: '/c/$city/config' });
  const navigate = useNavigate({ from: '/c/$city/config' });
  const isLeaving = useLeaving();
  const [typed, setTyped] = useState(path);
  useEffect(() => setTyped(path), [path]);
  const set = (name: 'path' | 'file', value: string): void =>
    void navigate({ search: (before) => ({ ...before, [name]: value === '' ? undefined : value }), replace: true });
  useEffect(() => {
    if (typed === path) return;
    const timer = setTimeout(() => isLeaving() || set('path', typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const reading = useRead(
    `values ${city} ${path}`,
    async (signal) => {
      const values: Value[] = [];
      let total = 0;
      for (let cursor: string | undefined; values.length < MOST;) {
        const answer: Schemas['ConfigExplainResponse'] = await get(inCity(city, 'config/explain'), {
          query: { path: path.trim(), limit: PAGE, cursor },
          signal,
        });
        values.push(...(answer.values ?? []));
        total = answer.values_total ?? values.length;
        cursor = answer.next_cursor;
        if (cursor === undefined) break;
      }
      return { values, total };
    },
    { city, on: /^config\.reloaded/ },
  );
  return (
    <>
      <input
        data-filter
        aria-label="A key, and everything below it"
        placeholder="A key, as agents.worker or providers"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        className="field max-w-96 font-mono text-[13px]"
      />
      <Shown of={reading}>
        {({ values, total }) => {
          const files = new Map<string, number>();
          for (const value of values) files.set(value.file, (files.get(value.file) ?? 0) + 1);
          const rows = values.filter((value) => file === '' || value.file === file);
          return (
            <>
              <p className="flex flex-wrap items-center gap-2 text-sm text-muted">
                {rows.length === total ? counted(total, 'value') : `${rows.length} of ${counted(total, 'value')}`} in
                <select
                  aria-label="File"
                  value={file}
                  onChange={(event) => set('file', event.target.value)}
                  className="field w-auto max-w-full"
                >
                  <option value="">all files</option>
                  {[...files].map(([name, count]) => (
                    <option key={name} value={name}>
                      {visible(name)} ({count})
                    </option>
                  ))}
                </select>
              </p>
              {rows.length === 0 ? (
                <Empty title="No value is there">
                  {(path !== '' || file !== '') && (
                    <Button onClick={() => void navigate({ search: { tab: 'values' }, replace: true })}>Show all</Button>
                  )}
                </Empty>
              ) : (
                <table className="w-full table-fixed text-left text-sm">
                  <thead className="text-xs text-muted max-md:sr-only">
                    <tr>
                      <th scope="col" className="w-2/5 py-1.5 pr-4 font-medium">
                        Key
                      </th>
                      <th scope="col" className="py-1.5 pr-4 font-medium">
                        Value
                      </th>
                      <th scope="col" className="w-1/4 py-1.5 font-medium">
                        Written in
                      </th>
                    </tr>
                  </thead>
                  <tbody className="divide-y divide-line border-y border-line">
                    {rows.map((value) => (
                      <tr
                        key={`${value.path} ${value.file} ${value.key}`}
                        data-row={value.path}
                        tabIndex={-1}
                        className="align-top max-md:flex max-md:flex-col max-md:py-2"
                      >
                        <td className="words py-1.5 pr-4 font-mono text-xs max-md:py-0 max-md:font-semibold">{visible(value.path)}</td>
                        <td className="words py-1.5 pr-4 font-mono text-xs max-md:py-0">{visible(String(JSON.stringify(value.value)))}</td>
                        <td className="words py-1.5 text-xs text-muted max-md:py-0">
                          {visible(value.file)}
                          {value.key !== value.path && <span className="block font-mono">{visible(value.key)}</span>}
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
    </>
  );
}
