import type { ReactNode } from 'react';
import type { Bead } from '../api/types.js';
import { visible } from '../lib/text.js';
import type { Around, Dependency, Side } from '../live/bead.js';
import { Age, Button } from './basics.js';
import { BeadLink } from './links.js';
import { countOf } from './list-view.js';
import { Words } from './words.js';

interface AboutProps {
  readonly city: string;
  readonly bead: Bead;
  readonly around: Around | undefined;
  readonly onRemove: ((other: string) => void) | undefined;
  /** More of what stands around it is read. */
  readonly onMore: () => void;
}

/** What a bead says, and what stands around it. */
export function About({ city, bead, around, onRemove, onMore }: AboutProps): ReactNode {
  return (
    <>
      <dl className="grid grid-cols-[auto_1fr] gap-x-5 gap-y-1.5 text-sm">
        <Fact name="Type">{bead.issue_type}</Fact>
        <Fact name="Priority">{bead.priority === undefined ? undefined : `P${bead.priority}`}</Fact>
        <Fact name="Assignee">{bead.assignee === undefined ? 'nobody' : visible(bead.assignee)}</Fact>
        <Fact name="Claimed until">
          {bead.claim?.lease_until === undefined ? undefined : new Date(bead.claim.lease_until).toLocaleString()}
        </Fact>
        <Fact name="Labels">{bead.labels?.length ? bead.labels.map(visible).join(', ') : undefined}</Fact>
        <Fact name="Rig">{bead.rig}</Fact>
        <Fact name="Parent">{bead.parent === undefined ? undefined : <BeadLink city={city} id={bead.parent} />}</Fact>
        <Fact name="Created">
          <Age at={bead.created_at} /> ago
        </Fact>
        {bead.updated_at !== undefined && (
          <Fact name="Changed">
            <Age at={bead.updated_at} /> ago
          </Fact>
        )}
      </dl>
      {bead.description !== undefined && bead.description !== '' && (
        <div className="border-t border-line pt-4">
          <Words text={bead.description} markdown />
        </div>
      )}
      {around !== undefined && (
        <>
          <Dependencies
            title="It depends on"
            city={city}
            side={around.down}
            other={(one) => one.depends_on_id}
            onRemove={onRemove}
            onMore={onMore}
          />
          <Dependencies title="Depend on it" city={city} side={around.up} other={(one) => one.issue_id} onMore={onMore} />
        </>
      )}
      {bead.metadata !== undefined && Object.keys(bead.metadata).length > 0 && (
        <details className="border-t border-line pt-3">
          <summary className="min-h-6 cursor-pointer text-sm font-medium">Metadata</summary>
          <dl className="mt-2 grid grid-cols-[auto_1fr] gap-x-5 gap-y-1 text-sm">
            {Object.entries(bead.metadata).map(([name, value]) => (
              <Fact key={name} name={visible(name)}>
                {visible(value)}
              </Fact>
            ))}
          </dl>
        </details>
      )}
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }): ReactNode {
  if (children === undefined || children === '') return null;
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="words min-w-0">{children}</dd>
    </>
  );
}

interface DependenciesProps {
  readonly title: string;
  readonly city: string;
  readonly side: Side;
  readonly other: (dependency: Dependency) => string;
  readonly onRemove?: ((other: string) => void) | undefined;
  readonly onMore: () => void;
}

function Dependencies({ title, city, side: { items, total }, other, onRemove, onMore }: DependenciesProps): ReactNode {
  if (items.length === 0) return null;
  return (
    <section className="border-t border-line pt-3">
      <h3 className="mb-1.5 text-sm font-medium">
        {title} <span className="font-normal text-muted">{countOf(items.length, total)}</span>
      </h3>
      <ul className="flex flex-col gap-1">
        {items.map((one) => (
          <li key={`${other(one)} ${one.type}`} className="flex items-center gap-3 text-sm">
            <BeadLink city={city} id={other(one)} />
            <span className="min-w-0 truncate">{visible(one.title ?? '')}</span>
            <span className="shrink-0 text-xs text-muted">
              {one.type} · {one.status}
            </span>
            {onRemove !== undefined && (
              <Button
                look="quiet"
                className="ml-auto"
                aria-label={`Remove the dependency on ${other(one)}`}
                onClick={() => onRemove(other(one))}
              >
                Remove
              </Button>
            )}
          </li>
        ))}
      </ul>
      {items.length < total && (
        <Button className="mt-2" onClick={onMore}>
          Show more
        </Button>
      )}
    </section>
  );
}
