import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { sql } from 'kysely';
import { GatewayError } from '@opentill/domain/gateway-error';
import { openDatabase } from '../src/database.ts';
import { assertLease, keepLease } from '../src/lease.ts';

/* Takes the lease `chain/ETH`, then writes an event or renews the lease on command. One output line per command. */
const [url = '', ttlMs = ''] = process.argv.slice(2);
const database = openDatabase({ url, applicationName: 'lease holder', poolMax: 2 });
const db = database.kysely;
const keeper = keepLease({
  db,
  schema: 'scanner_evm',
  name: 'chain/ETH',
  holder: 'paused',
  ttlMs: Number(ttlMs),
});
const lease = await keeper.acquire();
if (lease === undefined) throw new Error('the lease was not free');
console.log(`took ${lease.fencingToken}`);

for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'renew') console.log(`renewed ${await keeper.renew()}`);
  else {
    const outcome = await db
      .transaction()
      .execute(async (tx) => {
        await assertLease(tx, 'scanner_evm', lease);
        await sql`insert into scanner_evm.outbox (event_id, routing_key, payload)
          values (${randomUUID()}, 'stale', ${String(lease.fencingToken)})`.execute(tx);
        return 'written';
      })
      .catch((error: unknown) => (error instanceof GatewayError ? error.code : String(error)));
    console.log(outcome);
  }
}
await database.close();
