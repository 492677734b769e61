import { Link, type LinkProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { visible } from '../lib/text.js';
import type { Attention } from '../live/attention.js';
import { State } from './basics.js';
import { Rows } from './page.js';

const LOOKS = { city: ['bad', 'failed'], files: ['bad', 'refused'], sessions: ['bad', 'stuck'] } as const;

const linkOf = ({ kind, city, state }: Attention): LinkProps => {
  const to = kind === 'sessions' ? '/c/$city/sessions' : '/c/$city/config';
  const search = kind === 'sessions' ? { state } : {};
  return { to, params: { city }, search } as LinkProps;
};

/** What somebody should look at beside the questions. */
export const AttentionList = ({ items }: { items: readonly Attention[] }): ReactNode => (
  <section aria-label="To look at" className="flex flex-col gap-2 pt-2">
    <h2 className="text-sm font-semibold">To look at</h2>
    <Rows label="To look at">
      {items.map((item) => {
        const [tone, word] = LOOKS[item.kind];
        return (
          <li key={`${item.city} ${item.words}`} data-attention={item.kind}>
            <Link {...linkOf(item)} className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 px-4 py-2.5 text-sm hover:bg-raised">
              <span className="w-16">
                <State tone={tone}>{word}</State>
              </span>
              <span className="font-medium">{item.city}</span>
              <span className="min-w-0">{item.words}</span>
              {item.detail !== undefined && <span className="words w-full text-muted sm:pl-19">{visible(item.detail)}</span>}
            </Link>
          </li>
        );
      })}
    </Rows>
  </section>
);
