import { memo, type ReactNode } from 'react';
import type { Message } from '../live/transcript.js';
import { visible } from '../lib/text.js';
import { ToolCall } from './tool-call.js';
import { Words } from './words.js';

type Block = Message['blocks'][number];

const WHO: Readonly<Record<Message['role'], string>> = {
  assistant: 'Agent',
  user: 'You',
  system: 'System',
  tool: 'Tool',
  unknown: 'Other',
};

interface EntryProps {
  readonly message: Message;
  /** The keys are at it. */
  readonly here?: boolean;
  /** What is folded in it is shown: something in there was searched for. */
  readonly open?: boolean;
}

/** One entry of a transcript. Texts of agents are texts: what they say is read as Markdown, and nothing of it becomes HTML. */
export const Entry = memo(function Entry({ message, here = false, open = false }: EntryProps): ReactNode {
  const { role, blocks, status } = message;
  const mine = role === 'user';
  return (
    <article
      data-entry={message.id}
      data-role={role}
      aria-current={here ? 'true' : undefined}
      className={`flex flex-col gap-1.5 rounded-md aria-[current]:outline-2 aria-[current]:outline-offset-4 aria-[current]:outline-accent ${mine ? 'items-end' : ''}`}
    >
      <p className="sr-only">{WHO[role]}</p>
      {blocks.map((block, i) => {
        const growing = status === 'partial';
        // What a tool was asked for and what it has answered are one thing.
        if (isAnswered(block, blocks[i + 1])) return null;
        const use = blocks[i - 1];
        return (
          <div
            key={isMerged(use, block) ? i - 1 : i}
            className={mine ? 'max-w-[85%] rounded-2xl rounded-br-sm bg-tint px-3.5 py-2' : 'w-full'}
          >
            {isMerged(use, block) && use?.type === 'tool_use' && block.type === 'tool_result' ? (
              <ToolCall use={use} result={block} growing={growing} open={open} />
            ) : (
              <BlockView block={block} role={role} growing={growing} open={open} />
            )}
          </div>
        );
      })}
    </article>
  );
});

const isAnswered = (use: Block, result: Block | undefined): boolean =>
  use.type === 'tool_use' && result?.type === 'tool_result' && use.id === result.tool_call_id;

const isMerged = (before: Block | undefined, block: Block): boolean => before !== undefined && isAnswered(before, block);

interface BlockProps {
  readonly block: Block;
  readonly role: Message['role'];
  readonly growing: boolean;
  readonly open: boolean;
}

function BlockView({ block, role, growing, open }: BlockProps): ReactNode {
  switch (block.type) {
    case 'text':
      return <Words text={block.text ?? ''} quiet={role === 'system'} markdown={role === 'assistant'} growing={growing} />;
    case 'thinking':
      return (
        <blockquote className="border-l-2 border-line pl-3 text-muted">
          <Words text={block.thinking ?? ''} quiet markdown growing={growing} />
        </blockquote>
      );
    case 'tool_use':
      return <ToolCall use={block} result={undefined} growing={growing} open={open} />;
    case 'tool_result':
      return <ToolCall use={undefined} result={block} growing={growing} open={open} />;
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
