import { Component, useEffect, useState, useSyncExternalStore, type ReactNode } from 'react';
import { visible } from '../lib/text.js';
import { Button } from './basics.js';
import { outputOf } from './tool.js';

type Reader = (typeof import('../markdown/markdown.js'))['Markdown'];
let reader: Reader | undefined;
let loading: Promise<void> | undefined;
const waiting = new Set<() => void>();

/** What reads Markdown is a file of its own: views that show it ask for it early. Without it texts are what they are. */
export function loadMarkdown(): void {
  loading ??= import('../markdown/markdown.js').then(
    ({ Markdown }) => {
      reader = Markdown;
      for (const tell of waiting) tell();
    },
    () => void (loading = undefined),
  );
}

function useReader(wanted: boolean): Reader | undefined {
  useEffect(() => {
    if (wanted) loadMarkdown();
  }, [wanted]);
  const found = useSyncExternalStore(
    (tell) => {
      waiting.add(tell);
      return () => waiting.delete(tell);
    },
    () => reader,
  );
  return wanted ? found : undefined;
}

interface Props {
  readonly text: string;
  readonly quiet?: boolean;
  /** It is read as Markdown. What somebody approves never is: that stands as it was written. */
  readonly markdown?: boolean;
  /** There is more to come at its end. */
  readonly growing?: boolean;
}

/** What somebody has written, cut where it is long until somebody wants all of it. */
export function Words({ text, quiet = false, markdown = false, growing = false }: Props): ReactNode {
  const [all, showAll] = useState(false);
  const Markdown = useReader(markdown);
  const { shown, cut } = outputOf(text);
  const seen = visible((all ? text : shown).replaceAll('\r\n', '\n'));
  const plain = <p className="words">{seen}</p>;
  return (
    <div className={`flex flex-col items-start gap-2 ${quiet ? 'text-sm text-muted' : ''}`}>
      <div className="w-full min-w-0">
        {Markdown === undefined ? (
          plain
        ) : (
          <Boundary instead={plain}>
            <Markdown text={seen} growing={growing} plain={plain} />
          </Boundary>
        )}
      </div>
      {cut && !all && <Button onClick={() => showAll(true)}>Show all</Button>}
    </div>
  );
}

/** Where something cannot be drawn, what stands there instead. */
class Boundary extends Component<{ readonly instead: ReactNode; readonly children: ReactNode }, { readonly failed: boolean }> {
  override state = { failed: false };
  static getDerivedStateFromError = (): { failed: boolean } => ({ failed: true });
  override render(): ReactNode {
    return this.state.failed ? this.props.instead : this.props.children;
  }
}
