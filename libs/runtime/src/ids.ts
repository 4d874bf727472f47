import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Makes an identifier: a UUID, ordered by time, so that primary keys land at the end of their index. */
export type NewId = () => string;

const ID_BYTES = 16;
/** Random bytes are asked of the system for many ids at once; each is used once. */
const pool = new Uint8Array(ID_BYTES * 256);
let used = pool.length;

export const newId: NewId = () => {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.slice(used, used + ID_BYTES);
  used += ID_BYTES;
  return v7({ random });
};
