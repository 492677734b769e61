import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { get, inCity } from '../../api/client.js';
import type { Schemas } from '../../api/types.js';
import { counted } from '../../lib/counted.js';
import { visible } from '../../lib/text.js';
import { Age, Button, Empty } from '../../parts/basics.js';
import { More, Row, Rows, Shown } from '../admin/frame.js';
import { usePages } from '../admin/pages.js';
import { useRead } from '../admin/read.js';

type Revision = Schemas['ConfigRevision'];

const CAUSES: Readonly<Record<Revision['cause'], string>> = {
  start: 'the city came up',
  files: 'the files changed',
  api: 'a request',
  reload: 'read again',
};
/** The files as they are on the disk. */
const FILES = 'files';

/** All revisions, and what is different between two of them. */
export function Revisions({ city }: { city: string }): ReactNode {
  const { revision, against } = useSearch({ from: '/c/$city/config' });
  const navigate = useNavigate({ from: '/c/$city/config' });
  const reading = usePages<Revision>(inCity(city, 'config/revisions'), { limit: 50 }, { city, on: /^config\.reloaded/ });
  const show = (next: { revision?: string | undefined; against?: string | undefined }): void =>
    void navigate({ search: { tab: 'revisions', ...next } });
  return (
    <Shown of={reading}>
      {({ items, total, more }) => (
        <>
          {revision !== undefined && (
            <section aria-label="Differences" className="flex flex-col gap-3 rounded-xl border border-line bg-panel px-4 py-3">
              <div className="flex flex-wrap items-center gap-2 text-sm">
                <h2 className="font-semibold">From</h2>
                <Choose
                  label="From"
                  value={against ?? String(Number(revision) - 1)}
                  items={items}
                  onChange={(next) => show({ revision, against: next })}
                />
                <span>to</span>
                <Choose label="To" value={revision} items={items} files onChange={(next) => show({ revision: next, against })} />
                <Button className="ml-auto" look="quiet" onClick={() => show({})}>
                  Close
                </Button>
              </div>
              <Differences city={city} from={against ?? String(Number(revision) - 1)} to={revision} />
            </section>
          )}
          <div className="flex flex-wrap items-center gap-3">
            <span className="text-sm text-muted">{total !== undefined && counted(total, 'revision')}</span>
            <Button className="ml-auto" onClick={() => show({ revision: FILES, against: String(items[0]?.revision ?? 1) })}>
              Compare with the files on the disk
            </Button>
          </div>
          {items.length === 0 && <Empty title="There is no revision yet" />}
          <Rows label="Revisions">
            {items.map((one) => (
              <Row key={one.revision} name={String(one.revision)}>
                <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1 text-sm">
                  <span className="font-semibold tabular-nums">{one.revision}</span>
                  <span>{CAUSES[one.cause]}</span>
                  <span className="words text-muted">by {visible(one.actor)}</span>
                  <span className="text-xs text-muted">
                    <Age at={one.created_at} />
                  </span>
                  <span className="ml-auto">
                    {one.revision > 1 && (
                      <Link
                        data-open
                        to="/c/$city/config"
                        params={{ city }}
                        search={{ tab: 'revisions', revision: String(one.revision) }}
                        className="text-accent underline"
                      >
                        {counted(one.changed_total, 'key')}
                      </Link>
                    )}
                  </span>
                </div>
                {one.warnings.map((warning) => (
                  <p key={warning} className="words font-mono text-xs text-warn">
                    {visible(warning)}
                  </p>
                ))}
              </Row>
            ))}
          </Rows>
          {more && <More onMore={reading.showMore} busy={false} />}
        </>
      )}
    </Shown>
  );
}

interface ChooseProps {
  readonly label: string;
  readonly value: string;
  readonly items: readonly Revision[];
  readonly files?: boolean;
  readonly onChange: (value: string) => void;
}

function Choose({ label, value, items, files = false, onChange }: ChooseProps): ReactNode {
  const known = items.some((one) => String(one.revision) === value) || value === FILES;
  return (
    <select aria-label={label} value={value} onChange={(event) => onChange(event.target.value)} className="field w-auto">
      {files && <option value={FILES}>the files on the disk</option>}
      {!known && <option value={value}>{value}</option>}
      {items.map((one) => (
        <option key={one.revision} value={one.revision}>
          {one.revision}
        </option>
      ))}
    </select>
  );
}

function Differences({ city, from, to }: { city: string; from: string; to: string }): ReactNode {
  const reading = useRead(`differences ${city} ${from} ${to}`, (signal) =>
    get<Schemas['ConfigDiffBody']>(inCity(city, 'config/diff'), { query: { from, to: to === FILES ? undefined : to }, signal }),
  );
  return (
    <Shown of={reading}>
      {({ differences, total, errors = [] }) => (
        <>
          {errors.map((error) => (
            <p key={error} className="words font-mono text-[13px] text-bad">
              {visible(error)}
            </p>
          ))}
          {differences.length === 0 && errors.length === 0 && <p className="text-sm text-muted">They say the same.</p>}
          <ul className="flex flex-col gap-2" data-differences={total}>
            {differences.map(({ path, before, after }) => (
              <li key={path} className="text-[13px]">
                <p className="words font-mono font-semibold">{visible(path)}</p>
                {before !== undefined && <Side sign="−" tone="bg-badtint" value={before} />}
                {after !== undefined && <Side sign="+" tone="bg-tint" value={after} />}
              </li>
            ))}
          </ul>
          {total > differences.length && <p className="text-sm text-muted">and {total - differences.length} more</p>}
        </>
      )}
    </Shown>
  );
}

const Side = ({ sign, tone, value }: { sign: string; tone: string; value: unknown }): ReactNode => (
  <pre className={`words rounded px-2 font-mono text-[13px] ${tone}`}>
    {sign} {visible(String(JSON.stringify(value, null, 2)))}
  </pre>
);
