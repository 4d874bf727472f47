import type { Db } from '@opentill/db/database';
import type { Received } from './receiver.ts';

/**
 * Each notification must arrive at least once, unchanged, and no older one after a newer one. Returns a line per
 * problem.
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
    const notification = known.get(body.nonce);
    if (notification === undefined) continue;
    arrived.add(body.nonce);
    const label = `${notification.subject_id} callback ${notification.sequence}`;
    if (notification.sequence < (newest.get(notification.subject_id) ?? 0))
      problems.push(`${label} came after a newer one`);
    newest.set(
      notification.subject_id,
      Math.max(notification.sequence, newest.get(notification.subject_id) ?? 0),
    );
    const same =
      notification.notify_type === body.notifyType && notification.data === JSON.stringify(body.data);
    if (!same) problems.push(`${label} differs from its notification`);
  }
  for (const row of rows) {
    if (!arrived.has(row.event_id)) problems.push(`${row.subject_id} callback ${row.sequence} never arrived`);
  }
  return problems;
}

export function repeatedNonces(received: readonly Received[]): string[] {
  const seen = new Set<string>();
  return received.map(({ body }) => body.nonce).filter((nonce) => seen.has(nonce) || !seen.add(nonce));
}
