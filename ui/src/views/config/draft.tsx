import { useEffect, useState, type ReactNode } from 'react';
import { get, inCity, post } from '../../api/client.js';
import { useForbidden } from '../../api/info.js';
import * as needs from '../../api/needs.gen.js';
import type { Schemas } from '../../api/types.js';
import { visible } from '../../lib/text.js';
import { Button, Field, Problem, State } from '../../parts/basics.js';
import { useAct } from '../admin/act.js';
import { useRead } from '../admin/read.js';

interface File {
  readonly path: string;
  readonly text: string;
  /** As if it were not there. */
  readonly gone: boolean;
}
const EMPTY: File = { path: 'city.toml', text: '', gone: false };

/** Drafts stay in this tab: nothing is written on the host before somebody does that there. */
const nameOf = (city: string): string => `svc.draft.${city}`;
function restored(city: string): File[] {
  try {
    return (JSON.parse(sessionStorage.getItem(nameOf(city)) ?? 'null') as File[] | null) ?? [EMPTY];
  } catch {
    return [EMPTY];
  }
}

/** Whether a city would take files as they are written here, with the others as they are. */
export function Draft({ city }: { city: string }): ReactNode {
  const [files, setFiles] = useState<readonly File[]>(() => restored(city));
  const [answer, setAnswer] = useState<Schemas['ConfigValidateOutputBody']>();
  const act = useAct();
  const not = useForbidden(needs.validateConfigFiles);
  const known = useRead(`files ${city}`, async (signal) => {
    const { values } = await get<Schemas['ConfigExplainResponse']>(inCity(city, 'config/explain'), { query: { limit: 500 }, signal });
    return [...new Set((values ?? []).map(({ file }) => file))];
  });
  useEffect(() => {
    try {
      sessionStorage.setItem(nameOf(city), JSON.stringify(files));
    } catch {
      // Then they last as long as the view.
    }
  }, [city, files]);
  const change = (at: number, next: Partial<File>): void => {
    setAnswer(undefined);
    setFiles((before) => before.map((file, i) => (i === at ? { ...file, ...next } : file)));
  };
  const validate = (): void =>
    void act.run('validate', async () => {
      setAnswer(undefined);
      setAnswer(
        await post<Schemas['ConfigValidateOutputBody']>(inCity(city, 'config/validate'), {
          files: Object.fromEntries(
            files.filter(({ path }) => path.trim() !== '').map(({ path, text, gone }) => [path.trim(), gone ? null : text]),
          ),
        }),
      );
    });
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        validate();
      }}
    >
      <p className="text-sm text-muted">
        Write files as they might be: the city’s others stay as they are, and nothing is written. What the answer accepts can be put into
        the city’s directory, which is read by itself.
      </p>
      <datalist id="draft-files">
        {known.data?.map((file) => (
          <option key={file} value={file} />
        ))}
      </datalist>
      {files.map((file, at) => (
        <fieldset key={at} className="flex flex-col gap-2 rounded-xl border border-line bg-panel p-4">
          <legend className="sr-only">File {at + 1}</legend>
          <div className="flex flex-wrap items-end gap-3">
            <div className="min-w-48 flex-1">
              <Field label="File">
                {(id) => (
                  <input
                    id={id}
                    required
                    list="draft-files"
                    spellCheck={false}
                    value={file.path}
                    onChange={(event) => change(at, { path: event.target.value })}
                    className="field font-mono text-[13px]"
                  />
                )}
              </Field>
            </div>
            <label className="flex min-h-8 items-center gap-2 text-sm">
              <input type="checkbox" checked={file.gone} onChange={(event) => change(at, { gone: event.target.checked })} />
              As if it were not there
            </label>
            {files.length > 1 && (
              <Button look="quiet" onClick={() => setFiles(files.filter((_, i) => i !== at))}>
                Leave it out
              </Button>
            )}
          </div>
          {!file.gone && (
            <textarea
              aria-label={`Text of ${file.path}`}
              rows={12}
              spellCheck={false}
              value={file.text}
              onChange={(event) => change(at, { text: event.target.value })}
              className="field font-mono text-[13px]"
            />
          )}
        </fieldset>
      ))}
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => setFiles([...files, { ...EMPTY, path: '' }])}>Another file</Button>
        <Button className="ml-auto" type="submit" look="primary" not={not} disabled={act.busy !== undefined}>
          {act.busy === undefined ? 'Would it be taken?' : 'Composing …'}
        </Button>
      </div>
      {act.error !== undefined && <Problem error={act.error} />}
      {answer !== undefined && (
        <section aria-label="Answer" role="status" data-valid={answer.valid} className="flex flex-col gap-2">
          <State tone={answer.valid ? 'good' : 'bad'}>{answer.valid ? 'the city would take it' : 'the city would refuse it'}</State>
          {[...(answer.errors ?? []), ...(answer.warnings ?? [])].map((line) => (
            <p key={line} className="words font-mono text-[13px]">
              {visible(line)}
            </p>
          ))}
        </section>
      )}
    </form>
  );
}
