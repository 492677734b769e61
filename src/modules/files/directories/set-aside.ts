/** What begins the name of what a restore has moved aside in a folder of cities that may not be renamed. No backup has these, and no city gets them. */
export const ASIDE_INSIDE = '.svc-before-';
