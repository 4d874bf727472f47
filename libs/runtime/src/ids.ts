import { v7 } from 'uuid';

/** Makes an identifier: a UUID, ordered by time, so that primary keys land at the end of their index. */
export type NewId = () => string;

export const newId: NewId = () => v7();
