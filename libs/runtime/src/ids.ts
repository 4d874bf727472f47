import { v7 } from 'uuid';

/** UUID v7. Ids sort by time, and by creation within a process, so that new keys append to their index. */
export type NewId = () => string;

export const newId: NewId = () => v7();
