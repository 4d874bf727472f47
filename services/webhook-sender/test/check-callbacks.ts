import type { Db } from '@opentill/db/database';
import type { Received } from './receiver.ts';

/**
 * What is wrong with the callbacks that a merchant received of some orders, one line per problem; none when each
 * notification arrived at least once, no older one after a newer one, and each as it was fixed.
 * @param db opened as 'admin'
 */
export async function findCallbackProblems(
  db: Db,
  orderPks: readonly string[],
  received: readonly Received[],
): Promise<string[]> {
  const rows = await db
    .selectFrom('notification')
    .select(['event_id', 'subject_id', 'sequence', 'notify_type', 'data'])
    .where('subject_id', 'in', orderPks)
    .orderBy('subject_id')
    .orderBy('sequence')
    .execute();
  const known = new Map(rows.map((row) => [row.event_id, row]));
  const problems: string[] = [];
  const newest = new Map<string, number>();
  const arrived = new Set<string>();
  for (const { body } of received) {
    const told = known.get(body.nonce);
    if (told === undefined) continue;
    arrived.add(body.nonce);
    const label = `${told.subject_id} callback ${told.sequence}`;
    if (told.sequence < (newest.get(told.subject_id) ?? 0)) problems.push(`${label} came after a newer one`);
    newest.set(told.subject_id, Math.max(told.sequence, newest.get(told.subject_id) ?? 0));
    const same = told.notify_type === body.notifyType && told.data === JSON.stringify(body.data);
    if (!same) problems.push(`${label} says something else than its notification`);
  }
  for (const row of rows) {
    if (!arrived.has(row.event_id)) problems.push(`${row.subject_id} callback ${row.sequence} never arrived`);
  }
  return problems;
}

/** Nonces that came more than once: allowed after a crash or a lost answer, never otherwise. */
export function repeatedNonces(received: readonly Received[]): string[] {
  const seen = new Set<string>();
  return received.map(({ body }) => body.nonce).filter((nonce) => seen.has(nonce) || !seen.add(nonce));
}
