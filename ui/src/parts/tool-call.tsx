import { useMemo, useState, type ReactNode } from 'react';
import type { Schemas } from '../api/types.js';
import { counted } from '../lib/counted.js';
import { changeOf } from '../lib/diff.js';
import { visible } from '../lib/text.js';
import { Button, State } from './basics.js';
import { Change, sizeOf } from './change.js';
import { Code, outputOf, ToolInput } from './tool.js';

type Use = Schemas['SessionStructuredBlockToolUse'];
type Result = Schemas['SessionStructuredBlockToolResult'];

interface Props {
  readonly use: Use | undefined;
  readonly result: Result | undefined;
  /** It may still answer. */
  readonly growing: boolean;
  readonly open: boolean;
}

/** A call of a tool in one line: what, on what, and what has come of it. Unfolded it is all that was said. */
export function ToolCall({ use, result, growing, open }: Props): ReactNode {
  const [all, showAll] = useState(false);
  const lines = useMemo(() => changeOf(result?.structured), [result?.structured]);
  const text = result === undefined ? '' : (result.content ?? (lines === undefined ? textOf(result.structured) : ''));
  const { shown, cut } = outputOf(text);
  const failed = result?.is_error === true;
  const target = use === undefined ? (shown.split('\n', 1)[0] ?? '') : targetOf(use);
  return (
    <details open={failed || open} className="rounded-md border border-line bg-panel">
      <summary className="flex min-h-8 cursor-pointer items-center gap-2 px-3 py-1 text-sm">
        <span className="shrink-0 text-muted">{use === undefined ? 'Result' : 'Tool'}</span>
        {use !== undefined && <span className="max-w-[50%] shrink-0 truncate font-medium">{visible(use.name ?? 'unnamed')}</span>}
        <span className="min-w-0 truncate text-muted">{visible(target.slice(0, 200))}</span>
        <span className="ml-auto shrink-0">
          <Outcome result={result} growing={growing} size={lines === undefined ? linesIn(text) : sizeOf(lines)} />
        </span>
      </summary>
      <div className="flex flex-col gap-2 border-t border-line p-2.5">
        {use !== undefined &&
          (use.input === undefined ? <p className="text-sm text-muted">It was given nothing.</p> : <ToolInput input={use.input} />)}
        {lines !== undefined && <Change lines={lines} />}
        {result !== undefined && (lines === undefined || text !== '') && (
          <div>
            {use !== undefined && <p className="text-xs text-muted">answer</p>}
            <Code>{all ? text : shown}</Code>
          </div>
        )}
        {cut && !all && (
          <Button className="self-start" onClick={() => showAll(true)}>
            Show all
          </Button>
        )}
      </div>
    </details>
  );
}

function Outcome({ result, growing, size }: { result: Result | undefined; growing: boolean; size: string }): ReactNode {
  if (result?.is_error === true) return <State tone="bad">failed</State>;
  if (growing) return <State tone="accent">works</State>;
  return <span className="text-muted tabular-nums">{result === undefined ? '' : size}</span>;
}

const linesIn = (text: string): string => {
  const count = text === '' ? 0 : text.replace(/\n$/, '').split('\n').length;
  return counted(count, 'line');
};

/** What it works on: a file, or the first line of a command. */
function targetOf({ file_path: path, input }: Use): string {
  if (path !== undefined) return path;
  const { command, pattern, query, url } = (input ?? {}) as { command?: unknown; pattern?: unknown; query?: unknown; url?: unknown };
  const found = [command, pattern, query, url].find((one) => typeof one === 'string');
  return typeof found === 'string' ? (found.split('\n', 1)[0] ?? '') : '';
}

const textOf = (structured: unknown): string => {
  if (structured === undefined) return '';
  const { text, content, stdout } = structured as { text?: string; content?: string; stdout?: string };
  return text ?? content ?? stdout ?? JSON.stringify(structured, null, 2);
};
