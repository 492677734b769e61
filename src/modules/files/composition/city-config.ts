import type { NetworkRule } from '../../../contract/network.js';
/**
 * The composed configuration of a city as plain values: the names are those of the files. Only what other families
 * read is spelled out; the rest of a table is there under its own names.
 */
export interface CityConfig {
  readonly workspace: WorkspaceConfig;
  readonly agent_defaults?: Readonly<Record<string, unknown>>;
  /** The city's catalogue by name: what files and patches say, before inheritance. */
  readonly providers: Readonly<Record<string, ProviderSpec>>;
  /** The same after inheritance from bases and presets: what a session is started with. */
  readonly resolved_providers: Readonly<Record<string, ProviderSpec>>;
  readonly upstreams: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** In the order of the files: packs before the city, implicit ones last. */
  readonly agents: readonly AgentConfig[];
  readonly named_sessions: readonly NamedSessionConfig[];
  readonly rigs: readonly RigConfig[];
  readonly imports: Readonly<Record<string, ImportConfig>>;
  readonly default_rig_imports: Readonly<Record<string, ImportConfig>>;
  /** As they are written, so that what was put can be read. */
  readonly patches: Readonly<
    Record<'agent' | 'named_session' | 'rigs' | 'providers' | 'github_pr_monitor', readonly Record<string, unknown>[]>
  >;
  /** Formulas that win, one a scope and name. */
  readonly formulas: readonly FormulaConfig[];
  /** Where formulas of each place find what they name beside the city itself, the strongest last. Absent in what was composed before there were any. */
  readonly formula_folders?: readonly { readonly rig: string; readonly folders: readonly string[] }[];
  readonly order_files: readonly OrderConfig[];
  readonly commands: readonly FileConfig[];
  readonly doctor_checks: readonly FileConfig[];
  /** Of all agents of a place; an agent's own are files of its folder. Absent in what was composed before there were any. */
  readonly mcp_servers?: readonly FileConfig[];
  /** Folders, lowest first; `sha256` is of all that is in one. Absent as above. */
  readonly overlays?: readonly FileConfig[];
  /** SHA-256 of every file that packs and conventions contribute, by `Issue.file`: any change makes another result. */
  readonly contents: Readonly<Record<string, string>>;
  /** By name, packs' before the city's. Absent in what was composed before there were any. */
  readonly service?: readonly ServiceConfig[];
  /** `webhook`, `pricing`, `runtimes`, `global` and the subsystem tables, under their own names. */
  readonly [table: string]: unknown;
}

export type { NetworkRule };

export interface WorkspaceConfig {
  /** What the city is called: `.gc/site.toml`, else `workspace.name`, else its directory. */
  readonly name: string;
  /** In lower case: `.gc/site.toml`, else `workspace.prefix`, else derived from the name. */
  readonly prefix: string;
  readonly declared_name?: string;
  readonly declared_prefix?: string;
  readonly provider?: string;
  readonly start_command?: string;
  readonly timezone?: string;
  readonly suspended_on_start: boolean;
  /** -1: no limit. */
  readonly max_active_sessions?: number;
  readonly session_template?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly network?: NetworkRule;
}

export interface ProviderSpec {
  readonly base?: string;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly display_name?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly network?: NetworkRule;
  readonly option_defaults?: Readonly<Record<string, string>>;
  readonly options_schema?: readonly ProviderOption[];
  readonly [key: string]: unknown;
}

export interface ProviderOption {
  readonly key: string;
  readonly label?: string;
  readonly type: 'select';
  readonly default?: string;
  readonly choices?: readonly { readonly value: string; readonly label?: string; readonly flag_args?: readonly string[] }[];
}

export interface AgentConfig {
  /** Without rig and binding. */
  readonly name: string;
  /** `[rig/][binding.]name`: how everything else addresses the agent. */
  readonly qualified_name: string;
  /** The rig, '' for an agent of the city. */
  readonly dir: string;
  /** The import that brings it, '' for the city's own. */
  readonly binding: string;
  /** Where it is defined: a table of the city's files, a folder of `agents/`, a pack, or a provider's implicit agent. */
  readonly origin: 'inline' | 'folder' | 'pack' | 'implicit';
  /** The file or folder of its definition, as in `Issue.file`. */
  readonly source: string;
  /** The name of the pack, for origin `pack`. */
  readonly pack?: string;
  readonly provider?: string;
  readonly scope?: 'city' | 'rig';
  readonly suspended?: boolean;
  readonly description?: string;
  readonly min_active_sessions?: number;
  readonly max_active_sessions?: number;
  readonly namepool?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly [key: string]: unknown;
}

export interface NamedSessionConfig {
  /** `[rig/]name`. */
  readonly qualified_name: string;
  readonly name: string;
  readonly template: string;
  readonly dir: string;
  readonly mode: 'on_demand' | 'always';
  readonly [key: string]: unknown;
}

export interface RigConfig {
  readonly name: string;
  /** As bound: relative to the city, or absolute where rigs may lie; absent for a rig without binding. */
  readonly path?: string;
  /** In lower case; absent when nobody declared one. */
  readonly prefix?: string;
  readonly default_branch?: string;
  readonly suspended_on_start: boolean;
  readonly imports: Readonly<Record<string, ImportConfig>>;
  readonly [key: string]: unknown;
}

export interface ImportConfig {
  readonly source: string;
  /** The constraint as written. */
  readonly version?: string;
  /** The pin of a repository. */
  readonly commit?: string;
  readonly resolved_version?: string;
  /** What the pack calls itself. */
  readonly pack: string;
  readonly pack_version?: string;
  readonly description?: string;
}

/** A formula that wins, with the files of its name that it wins over, the strongest first. */
export interface FormulaConfig extends FileConfig {
  /** Absent for a workflow, and for what cannot be read. */
  readonly type?: 'expansion' | 'aspect';
  readonly shadows?: readonly { readonly file: string; readonly pack: string }[];
}

/** An order that wins. */
export interface OrderConfig extends FileConfig {
  /** As it is written. Absent in what was composed before orders were read. */
  readonly order?: Readonly<Record<string, unknown>>;
}

/** A service of the city, with its defaults. */
export interface ServiceConfig {
  readonly name: string;
  readonly kind: 'workflow' | 'proxy_process';
  readonly publish_mode: 'private' | 'direct';
  /** Below `.gc/services/` of the city. */
  readonly state_root: string;
  readonly publication?: {
    readonly visibility?: 'private' | 'public' | 'tenant';
    readonly hostname?: string;
    readonly allow_websockets?: boolean;
  };
  readonly workflow?: { readonly contract?: string };
  readonly process?: { readonly command?: readonly string[]; readonly health_path?: string };
  /** The pack that brings it, and the folder it lies in, as `Issue.file` names them. */
  readonly pack?: string;
  readonly source_dir?: string;
}

export interface FileConfig {
  readonly name: string;
  /** The rig it is for, '' for the city. */
  readonly rig: string;
  /** As in `Issue.file`. */
  readonly file: string;
  readonly sha256: string;
  /** '' for the city's own. */
  readonly pack: string;
}
