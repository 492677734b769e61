import { memo, type ReactNode } from 'react';
import type { Schemas } from '../api/types.js';
import { inputOf, toldOf, type Call } from '../lib/approve.js';
import { plain, visible, visibleAll } from '../lib/text.js';
import { Change } from './change.js';

type Input = Schemas['SessionStructuredToolInput'];

/** Exactly what a tool would do: nothing left out, and what cannot be seen made visible. */
export function ToolInput({ input, whole = false }: { input: Input | undefined; whole?: boolean }): ReactNode {
  if (input === undefined) return null;
  return (
    <dl className="flex flex-col gap-1.5">
      {inputOf(input).map(([name, value]) => (
        <div key={name}>
          <dt className="text-xs text-muted">{name.replaceAll('_', ' ')}</dt>
          <dd>
            <Code whole={whole}>{value}</Code>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/**
 * Exactly what a call would do, for whoever is to allow it: on what, what it is given, and what it says beside that. Drawn once: it may be long.
 * Nothing of it scrolls by itself: a box that ends with a whole line looks as if that were all.
 */
export const ToolTold = memo(function ToolTold({ call }: { call: Call }): ReactNode {
  const { files, change, text } = toldOf(call);
  return (
    <>
      {files.length > 0 && (
        <p className="words text-sm">
          <span className="text-muted">{files.length === 1 ? 'File: ' : 'Files: '}</span>
          {files.map(visibleAll).join(', ')}
        </p>
      )}
      <ToolInput input={call.use.input} whole />
      {change !== undefined && <Change lines={change} whole />}
      {text.trim() !== '' && <Code whole>{text}</Code>}
    </>
  );
});

/** @param whole it is as high as what it says. */
export const Code = ({ children, whole = false }: { children: string; whole?: boolean }): ReactNode => (
  <pre
    tabIndex={0}
    className={`words ${whole ? '' : 'max-h-96'} overflow-auto rounded-md border border-line bg-ground px-2.5 py-1.5 font-mono text-[13px]`}
  >
    {whole ? visibleAll(children) : visible(children)}
  </pre>
);

const LINES = 200;
const LENGTH = 16 * 1024;

/** Output, cut where it is long until somebody wants all of it. */
export function outputOf(text: string): { shown: string; cut: boolean } {
  const clean = plain(text);
  const lines = clean.split('\n');
  if (lines.length <= LINES && clean.length <= LENGTH) return { shown: clean, cut: false };
  return { shown: lines.slice(0, LINES).join('\n').slice(0, LENGTH), cut: true };
}
