/** A variable where a text has to be made of nothing but texts and variables. */
export const VARIABLE = /\{\{\s*\.([A-Za-z]\w*)\s*\}\}/g;
/** The same where braces may be something else's, too, and may take the blanks around them away. */
export const TRIMMING_VARIABLE = /\{\{-?\s*\.([A-Za-z]\w*)\s*-?\}\}/g;

/** Who a session is: in prompts, in commands and in templates of servers. */
export const IDENTITY_VARIABLES = [
  ...(['Agent', 'AgentName', 'AgentBase', 'TemplateName', 'Rig', 'RigName'] as const),
  ...(['CityName', 'SessionName', 'SessionID', 'Provider'] as const),
] as const;
/** What commands and templates of servers may have. */
export const COMMAND_VARIABLES = [
  ...IDENTITY_VARIABLES,
  ...(['RigRoot', 'CityRoot', 'WorktreesRoot', 'WorkDir', 'ConfigDir', 'Session'] as const),
] as const;
export const WORK_DIR_VARIABLES = ['Agent', 'AgentBase', 'Rig', 'RigRoot', 'CityRoot', 'CityName', 'WorktreesRoot'] as const;
export const SESSION_NAME_VARIABLES = ['City', 'CityName', 'Agent', 'AgentBase', 'Identity', 'Name', 'Rig'] as const;

/** A value for each of these variables. */
export type ValuesOf<T extends readonly string[]> = Readonly<Record<T[number], string>>;
