import { v7 } from 'uuid';

/** Makes an identifier: a UUID, ordered by time and, within a process, by its making, so that keys land at the end of their index. */
export type NewId = () => string;

export const newId: NewId = () => v7();
