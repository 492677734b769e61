/** The version of the program and of the document; a test keeps it equal to package.json's. */
export const VERSION = '0.2.0';
