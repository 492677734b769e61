import { memo, type ReactNode } from 'react';
import { Code } from '../parts/tool.js';
import { piecesFor } from './kept.js';
import type { Block, Inline } from './read.js';

interface Props {
  /** With what cannot be seen made visible. */
  readonly text: string;
  /** There is more to come at its end. */
  readonly growing: boolean;
  readonly plain: ReactNode;
}

/** A text as Markdown: elements for what `read.ts` knows, texts for everything else. */
export function Markdown({ text, growing, plain }: Props): ReactNode {
  const pieces = piecesFor(text, growing);
  if (pieces === undefined) return plain;
  return <div className="flex flex-col gap-2.5">{pieces.map(({ block }, i) => block !== undefined && <View key={i} block={block} />)}</div>;
}

const View = memo(function View({ block }: { block: Block }): ReactNode {
  switch (block.kind) {
    case 'paragraph':
      return (
        <p className="words">
          <Parts parts={block.parts} />
        </p>
      );
    case 'plain':
      return (
        <span className="words">
          <Parts parts={block.parts} />
        </span>
      );
    case 'heading': {
      // Below those of the view.
      const Heading = `h${Math.min(6, block.depth + 2)}` as 'h3';
      return (
        <Heading className={`words font-semibold ${block.depth < 3 ? 'text-base' : ''}`}>
          <Parts parts={block.parts} />
        </Heading>
      );
    }
    case 'code':
      return (
        <div>
          {block.lang !== '' && <p className="pb-0.5 text-xs text-muted">{block.lang}</p>}
          <Code>{block.text}</Code>
        </div>
      );
    case 'quote':
      return (
        <blockquote className="flex flex-col gap-2.5 border-l-2 border-line pl-3 text-muted">
          <Views blocks={block.blocks} />
        </blockquote>
      );
    case 'list': {
      const items = block.items.map((blocks, i) => (
        <li key={i} className="pl-1">
          <div className="flex flex-col gap-1">
            <Views blocks={blocks} />
          </div>
        </li>
      ));
      return block.start === undefined ? (
        <ul className="flex list-disc flex-col gap-1 pl-5">{items}</ul>
      ) : (
        <ol start={block.start} className="flex list-decimal flex-col gap-1 pl-7">
          {items}
        </ol>
      );
    }
    case 'table':
      return (
        <div tabIndex={0} className="overflow-x-auto rounded-md border border-line">
          <table className="min-w-full text-sm">
            <thead>
              <tr className="bg-raised text-left">
                {block.head.map((cell, i) => (
                  <th key={i} scope="col" className="px-2.5 py-1 font-semibold">
                    <Parts parts={cell} />
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row, i) => (
                <tr key={i} className="border-t border-line align-top">
                  {row.map((cell, j) => (
                    <td key={j} className="px-2.5 py-1">
                      <Parts parts={cell} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case 'rule':
      return <hr className="border-line" />;
  }
});

const Views = ({ blocks }: { blocks: readonly Block[] }): ReactNode => blocks.map((block, i) => <View key={i} block={block} />);

const Parts = ({ parts }: { parts: readonly Inline[] }): ReactNode => parts.map((part, i) => <Part key={i} part={part} />);

function Part({ part }: { part: Inline }): ReactNode {
  if (typeof part === 'string') return part;
  switch (part.kind) {
    case 'strong':
      return (
        <strong className="font-semibold">
          <Parts parts={part.parts} />
        </strong>
      );
    case 'em':
      return (
        <em>
          <Parts parts={part.parts} />
        </em>
      );
    case 'del':
      return (
        <del>
          <Parts parts={part.parts} />
        </del>
      );
    case 'code':
      return <code className="rounded bg-raised px-1 py-px font-mono text-[13px]">{part.text}</code>;
    case 'break':
      return <br />;
    case 'link':
      return (
        <>
          <a href={part.href} target="_blank" rel="noopener noreferrer nofollow" className="text-accent underline">
            <Parts parts={part.parts} />
          </a>
          {part.host !== undefined && <span className="text-muted"> ({part.host})</span>}
        </>
      );
  }
}
