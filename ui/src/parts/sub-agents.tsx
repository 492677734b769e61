import type { ReactNode } from 'react';
import { get, inCity, part } from '../api/client.js';
import type { LoggedEvent, Schemas } from '../api/types.js';
import { visible } from '../lib/text.js';
import { useCityRead } from '../live/use-read.js';
import { Button, Problem, State } from './basics.js';
import { Icon } from './icons.js';
import { Loading } from './page.js';
import { Code } from './tool.js';
import { Words } from './words.js';

type Mapping = Schemas['AgentMapping'];
const ofSession =
  (id: string) =>
  ({ type, session_id, subject, payload }: LoggedEvent): boolean =>
    /^session\.|^worker\.operation$/.test(type) && (session_id === id || subject === id || payload.session_id === id);

/** The agents that a session has had work for it. */
export function useSubAgents(city: string, id: string): readonly Mapping[] {
  const { data } = useCityRead(
    city,
    `sub-agents ${id}`,
    async (signal) => (await get<Schemas['SessionAgentListResponse']>(inCity(city, `session/${part(id)}/agents`), { signal })).agents ?? [],
    ofSession(id),
  );
  return data ?? [];
}

interface Props {
  readonly city: string;
  readonly session: string;
  readonly agent: string;
  readonly onClose: () => void;
}

/** What a sub-agent has said, as it wrote it. */
export function SubAgent({ city, session, agent, onClose }: Props): ReactNode {
  const { data, error, again } = useCityRead(
    city,
    `sub-agent ${session} ${agent}`,
    (signal) => get<Schemas['SessionAgentGetResponse']>(inCity(city, `session/${part(session)}/agents/${part(agent)}`), { signal }),
    ofSession(session),
  );
  const status = data?.status;
  return (
    <div className="flex flex-col gap-3 p-4">
      <header className="flex items-center gap-3">
        <h2 className="min-w-0 flex-1 truncate font-semibold">Sub-agent {visible(agent)}</h2>
        {status !== undefined && (
          <State tone={status === 'failed' ? 'bad' : status === 'running' ? 'accent' : 'quiet'}>{visible(status)}</State>
        )}
        <button type="button" aria-label="Close the sub-agent" onClick={onClose} className="rounded-md p-2 text-muted hover:bg-raised">
          <Icon name="close" />
        </button>
      </header>
      {error !== undefined && <Problem error={error} onRetry={again} />}
      {data === undefined && error === undefined && <Loading />}
      <ol className="flex flex-col gap-2">
        {(data?.messages ?? []).map((frame, i) => {
          const said = saidIn(frame);
          return (
            <li key={i} className="flex flex-col gap-1">
              {said === undefined ? (
                <Code>{JSON.stringify(frame, null, 2)}</Code>
              ) : (
                <>
                  <p className="text-xs text-muted">{visible(said.role)}</p>
                  <Words text={said.text} markdown={said.role === 'assistant'} />
                </>
              )}
            </li>
          );
        })}
      </ol>
      {data !== undefined && (data.messages ?? []).length === 0 && <p className="text-sm text-muted">It has said nothing yet.</p>}
      <Button className="self-start" onClick={onClose}>
        Close
      </Button>
    </div>
  );
}

/** The words of a frame, where it has any; each provider writes them in its own way. */
function saidIn(frame: unknown): { role: string; text: string } | undefined {
  if (typeof frame !== 'object' || frame === null) return undefined;
  const one = frame as { role?: unknown; type?: unknown; text?: unknown; content?: unknown; message?: unknown };
  const role = typeof one.role === 'string' ? one.role : typeof one.type === 'string' ? one.type : '';
  const text = wordsOf(one.text) ?? wordsOf(one.content);
  if (text !== undefined) return { role, text };
  const inner = saidIn(one.message);
  return inner === undefined ? undefined : { role: inner.role === '' ? role : inner.role, text: inner.text };
}

function wordsOf(content: unknown): string | undefined {
  if (typeof content === 'string' && content !== '') return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.flatMap((block: unknown) => {
    const { text } = (block ?? {}) as { text?: unknown };
    return typeof text === 'string' ? [text] : [];
  });
  // Something that is no text must not be left out.
  return texts.length > 0 && texts.length === content.length ? texts.join('\n') : undefined;
}
