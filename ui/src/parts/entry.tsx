import { memo, useState, type ReactNode } from 'react';
import type { Message } from '../live/transcript.js';
import { visible } from '../lib/text.js';
import { Button, State } from './basics.js';
import { Code, outputOf, ToolInput } from './tool.js';

type Block = Message['blocks'][number];

const WHO: Readonly<Record<Message['role'], string>> = {
  assistant: 'Agent',
  user: 'You',
  system: 'System',
  tool: 'Tool',
  unknown: 'Other',
};

/** One entry of a transcript. Texts of agents are texts: nothing makes markup of them. */
export const Entry = memo(function Entry({ message }: { message: Message }): ReactNode {
  const { role, blocks } = message;
  const mine = role === 'user';
  return (
    <article data-entry={message.id} data-role={role} className={`flex flex-col gap-1.5 ${mine ? 'items-end' : ''}`}>
      <p className="sr-only">{WHO[role]}</p>
      {blocks.map((block, i) => (
        <div key={i} className={mine ? 'max-w-[85%] rounded-2xl rounded-br-sm bg-tint px-3.5 py-2' : 'w-full'}>
          <BlockView block={block} system={role === 'system'} />
        </div>
      ))}
    </article>
  );
});

function BlockView({ block, system }: { block: Block; system: boolean }): ReactNode {
  switch (block.type) {
    case 'text':
      return <Words text={block.text ?? ''} quiet={system} />;
    case 'thinking':
      return (
        <blockquote className="border-l-2 border-line pl-3 text-muted">
          <Words text={block.thinking ?? ''} quiet />
        </blockquote>
      );
    case 'tool_use':
      return (
        <details className="rounded-md border border-line bg-panel">
          <summary className="flex min-h-8 cursor-pointer items-center gap-2 px-3 py-1 text-sm">
            <span className="text-muted">Tool</span>
            <span className="truncate font-medium">{visible(block.name ?? 'unnamed')}</span>
            {block.file_path !== undefined && <span className="truncate text-muted">{visible(block.file_path)}</span>}
          </summary>
          <div className="border-t border-line p-3">
            {block.input === undefined ? <p className="text-sm text-muted">It was given nothing.</p> : <ToolInput input={block.input} />}
          </div>
        </details>
      );
    case 'tool_result':
      return <Result text={block.content ?? textOf(block.structured)} failed={block.is_error === true} />;
    case 'interaction':
      return (
        <p className="words rounded-md border border-line px-3 py-1.5 text-sm">
          <span className="text-muted">Question · {block.interaction?.state ?? 'open'}: </span>
          {visible(block.interaction?.prompt ?? '')}
          {block.interaction?.action !== undefined && <span className="font-medium"> → {visible(block.interaction.action)}</span>}
        </p>
      );
    case 'image':
      return <p className="words text-sm text-muted">Image: {visible(block.file_path ?? block.image_url ?? block.text ?? '')}</p>;
    default:
      return <Words text={block.text ?? block.content ?? ''} quiet />;
  }
}

const textOf = (structured: unknown): string => {
  if (structured === undefined) return '';
  const { text, content, stdout } = structured as { text?: string; content?: string; stdout?: string };
  return text ?? content ?? stdout ?? JSON.stringify(structured, null, 2);
};

function Words({ text, quiet = false }: { text: string; quiet?: boolean }): ReactNode {
  const [all, showAll] = useState(false);
  const { shown, cut } = outputOf(text);
  return (
    <>
      <p className={`words ${quiet ? 'text-sm text-muted' : ''}`}>{visible(all ? text : shown)}</p>
      {cut && !all && <Button onClick={() => showAll(true)}>Show all</Button>}
    </>
  );
}

function Result({ text, failed }: { text: string; failed: boolean }): ReactNode {
  const [all, showAll] = useState(false);
  const { shown, cut } = outputOf(text);
  const lines = text === '' ? 0 : text.split('\n').length;
  return (
    <details open={failed} className="rounded-md border border-line bg-panel">
      <summary className="flex min-h-8 cursor-pointer items-center gap-2 px-3 py-1 text-sm">
        <span className="text-muted">Result</span>
        {failed ? <State tone="bad">failed</State> : <span className="text-muted">{lines === 1 ? '1 line' : `${lines} lines`}</span>}
        <span className="truncate text-muted">{visible(shown.split('\n', 1)[0] ?? '').slice(0, 120)}</span>
      </summary>
      <div className="border-t border-line p-2">
        <Code>{all ? text : shown}</Code>
        {cut && !all && (
          <Button className="mt-2" onClick={() => showAll(true)}>
            Show all
          </Button>
        )}
      </div>
    </details>
  );
}
