import { sql } from 'kysely';
import type { OrderRow } from '@opentill/testkit/scenario';
import { requireProgress } from '../world/require-progress.ts';
import type { ChainDisturbances } from './chain-disturbances.ts';
import { startProcess, type SignerProcess } from './signer-process.ts';
import type { SignerWorld } from './signer-world.ts';

const OPEN_AT_ONCE = 4;

export async function countOpen({ admin }: SignerWorld): Promise<number> {
  const { rows } = await sql<{ open: number }>`
    select count(*)::int as open from payout p
    where not exists (select from wallet_nonce n where n.order_pk = p.order_pk and n.state = 'FINAL')`.execute(
    admin,
  );
  return rows[0]?.open ?? 0;
}

export async function killAtRandom(
  world: SignerWorld,
  env: Readonly<Record<string, string>>,
  random: () => number,
  rough: ChainDisturbances,
  wanted: { readonly leaders: number; readonly standbys: number },
): Promise<{ readonly orders: readonly OrderRow[]; readonly leaders: number; readonly standbys: number }> {
  const orders: OrderRow[] = [];
  const kills = { leaders: 0, standbys: 0 };
  let births = 0;
  interface Replica {
    readonly name: string;
    readonly process: SignerProcess;
    killAt: number | undefined;
  }
  const born = async (): Promise<Replica> => {
    births += 1;
    const name = `killed-${births}`;
    return { name, process: await startProcess({ ...env, INSTANCE_ID: name }), killAt: undefined };
  };
  const leader = async (): Promise<string | undefined> => {
    const { rows } = await sql<{ holder: string }>`
      select holder from signer.lease where starts_with(name, 'wallet/') and expires_at > clock_timestamp()`.execute(
      world.admin,
    );
    return rows[0]?.holder.split('#')[0];
  };
  const isOver = () => kills.leaders >= wanted.leaders && kills.standbys >= wanted.standbys;
  const replicas = [await born(), await born()];
  const progress = requireProgress();
  try {
    for (;;) {
      const open = await countOpen(world);
      if (isOver() && open === 0) return { orders, ...kills };
      progress({ ...kills, orders: orders.length, open });
      if (!isOver() && open < OPEN_AT_ONCE) orders.push(await world.payout());
      const leads = await leader();
      for (const [place, replica] of replicas.entries()) {
        const kind = replica.name === leads ? 'leaders' : 'standbys';
        if (kills[kind] >= wanted[kind]) continue;
        replica.killAt ??= kind === 'leaders' ? Date.now() + random() * 1_500 : undefined;
        const isDue = replica.killAt === undefined ? random() < 0.012 : Date.now() >= replica.killAt;
        if (!isDue) continue;
        replica.process.child.kill('SIGKILL');
        const end = await replica.process.ended;
        if (end !== 'SIGKILL') throw new Error(`it ended by itself: ${replica.process.output()}`);
        kills[kind] += 1;
        replicas[place] = await born();
      }
      const chance = random();
      if (!isOver() && chance < 0.01) await rough.forget();
      else if (!isOver() && chance < 0.03) await rough.reorganise(1 + Math.floor(random() * 3));
      if (random() < 0.3) await world.mine();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    for (const { process } of replicas) {
      process.child.kill('SIGKILL');
      await process.ended;
    }
  }
}
