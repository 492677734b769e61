import { useState, type ReactNode } from 'react';
import { visible } from '../../lib/text.js';

interface TreeProps {
  readonly value: unknown;
  /** Given a value that was clicked, with where it stands; lists have no path that can be asked for. */
  readonly onPick?: (path: string, value: string) => void;
  readonly path?: string;
  readonly depth?: number;
}

/** Deeper than this a text of braces says more than a tree. */
const DEEPEST = 12;
const MOST = 200;
const LONG = 400;

const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null && Object.keys(value).length > 0;

/** A value as a tree: branches open and close, leaves can be filtered by. */
export function Tree({ value, onPick, path = '', depth = 0 }: TreeProps): ReactNode {
  if (!isBranch(value) || depth >= DEEPEST) return <Leaf value={value} path={path} onPick={onPick} />;
  const list = Array.isArray(value);
  const members = Object.entries(value);
  return (
    <ul className={depth === 0 ? '' : 'border-l border-line pl-3'}>
      {members.slice(0, MOST).map(([name, member]) => {
        const here = list || name.includes('.') || (depth > 0 && path === '') ? '' : path === '' ? name : `${path}.${name}`;
        return (
          <li key={name} className="text-[13px]">
            {isBranch(member) ? (
              <details open={depth < 2}>
                <summary className="cursor-pointer font-mono text-xs text-muted">
                  {visible(name)} <span aria-hidden="true">{Array.isArray(member) ? `[${member.length}]` : ''}</span>
                </summary>
                <Tree value={member} path={here} depth={depth + 1} {...(onPick === undefined ? {} : { onPick })} />
              </details>
            ) : (
              <span className="flex flex-wrap items-baseline gap-x-2">
                <span className="font-mono text-xs text-muted">{visible(name)}</span>
                <Leaf value={member} path={here} onPick={onPick} />
              </span>
            )}
          </li>
        );
      })}
      {members.length > MOST && <li className="text-xs text-muted">and {members.length - MOST} more</li>}
    </ul>
  );
}

function Leaf({ value, path, onPick }: { value: unknown; path: string; onPick: TreeProps['onPick'] }): ReactNode {
  const [all, showAll] = useState(false);
  const text = typeof value === 'string' ? value : String(JSON.stringify(value));
  const cut = !all && text.length > LONG;
  const shown = visible(cut ? text.slice(0, LONG) : text);
  const whole = cut && (
    <button type="button" className="ml-1 text-xs text-accent underline" onClick={() => showAll(true)}>
      show all {text.length.toLocaleString()} characters
    </button>
  );
  if (onPick === undefined || path === '' || text === '' || text.length > LONG || (typeof value === 'object' && value !== null))
    return (
      <span className="words min-w-0 font-mono text-xs">
        {shown === '' ? '""' : shown}
        {whole}
      </span>
    );
  return (
    <button
      type="button"
      title={`Only events with ${path}=${text}`}
      onClick={() => onPick(path, text)}
      className="words min-w-0 rounded px-0.5 text-left font-mono text-xs hover:bg-tint hover:text-accent"
    >
      {shown}
    </button>
  );
}
