import { join } from 'node:path';
import ts from 'typescript';

/** Tells what the compiler says of a changed file: a test that fails for a type error has found nothing. */
export class Types {
  readonly #service: ts.LanguageService;
  readonly #changed = new Map<string, string>();
  /** The page has settings of its own: of what is compiled by those nothing is known here. */
  readonly #known: ReadonlySet<string>;
  #version = 0;

  constructor(private readonly root: string) {
    const config = ts.readConfigFile(join(root, 'tsconfig.json'), (file) => ts.sys.readFile(file));
    const { options, fileNames } = ts.parseJsonConfigFileContent(config.config, ts.sys, root);
    this.#known = new Set(fileNames);
    this.#service = ts.createLanguageService({
      getCompilationSettings: () => options,
      getScriptFileNames: () => fileNames,
      getScriptVersion: (file) => (this.#changed.has(file) ? String(this.#version) : '0'),
      getScriptSnapshot: (file) => {
        const text = this.#changed.get(file) ?? ts.sys.readFile(file);
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
      },
      getCurrentDirectory: () => root,
      getDefaultLibFileName: (settings) => ts.getDefaultLibFilePath(settings),
      fileExists: (file) => ts.sys.fileExists(file),
      readFile: (file) => ts.sys.readFile(file),
      readDirectory: (...args) => ts.sys.readDirectory(...args),
      directoryExists: (dir) => ts.sys.directoryExists(dir),
      getDirectories: (dir) => ts.sys.getDirectories(dir),
    });
  }

  /**
   * The first thing that is wrong with each file when all of them hold these texts; of what is no TypeScript nothing is
   * known. Most of the time goes into what all files share: hundreds of files take little longer than one.
   */
  wrong(texts: ReadonlyMap<string, string>): Map<string, string> {
    const files = [...texts.keys()].filter((file) => file.endsWith('.ts') && this.#known.has(join(this.root, file)));
    this.#changed.clear();
    for (const file of files) this.#changed.set(join(this.root, file), texts.get(file)!);
    this.#version++;
    const found = files.map((file) => [file, this.#first(join(this.root, file))] as const);
    return new Map(found.flatMap(([file, problem]) => (problem === undefined ? [] : [[file, problem]])));
  }

  #first(path: string): string | undefined {
    const found = this.#service.getSyntacticDiagnostics(path).at(0) ?? this.#service.getSemanticDiagnostics(path).at(0);
    return found === undefined ? undefined : ts.flattenDiagnosticMessageText(found.messageText, '\n');
  }
}
