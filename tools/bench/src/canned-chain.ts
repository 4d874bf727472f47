import { createHash } from 'node:crypto';
import { bloomBits } from '@opentill/chain-evm/bloom';

/** A chain that is computed, not executed: the same parameters give the same blocks, in whatever process. */
export interface CannedChainPlan {
  readonly seed: string;
  readonly tokens: readonly string[];
  /** In every block, each in a transaction of its own. */
  readonly transfersPerBlock: number;
  /** Transactions of a block that move none of the tokens: they only stand in its header. */
  readonly otherTransactions: number;
  /** A transfer of every so manieth block goes to one of these; no other does. */
  readonly ours: readonly string[];
  readonly blocksPerDeposit: number;
  /** Time of block 0 in seconds since 1970, and of each further one after it. */
  readonly startSeconds: number;
  readonly blockTimeMs: number;
  /** Whether the receipts of a block are made once and kept: 0.3 MB for 200 transfers. @default false */
  readonly keepsReceipts?: boolean;
}

/** What a node answers of a block, as JSON text. */
export interface CannedBlock {
  readonly height: number;
  readonly hash: string;
  readonly header: Buffer;
  /** The logs without the brackets around them; empty when there are none. */
  readonly logs: Buffer;
  readonly transactionHashes: readonly string[];
}

/** What a cursor tells of a block. */
export interface CannedBlockFacts {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timeSeconds: number;
}

export interface CannedChain {
  facts(height: number): CannedBlockFacts;
  block(height: number): CannedBlock;
  /** Forgets blocks below this height. */
  forgetBelow(height: number): void;
  heightOf(blockHash: string): number | undefined;
  /** The JSON of a receipt; undefined for a transaction that moves no token. */
  receipt(transactionHash: string): string | undefined;
  /** The JSON of all receipts of a block. */
  receiptsOf(block: CannedBlock): Buffer;
}

const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const STRANGERS = 20_000;
const BLOOM_BYTES = 256;
const ZEROS = '0'.repeat(24);

const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
const quantity = (value: number): string => `0x${value.toString(16)}`;

/** The deposit address of an index: what `fillDepositAddresses` writes by SQL. */
export function cannedDepositAddress(index: number): string {
  const md5 = (text: string): string => createHash('md5').update(text).digest('hex');
  return `0x${md5(`a${index}`)}${md5(`b${index}`).slice(0, 8)}`;
}

export function createCannedChain(plan: CannedChainPlan): CannedChain {
  const strangers = Array.from(
    { length: STRANGERS },
    (_, i) => `0x${sha(`${plan.seed} stranger ${i}`).slice(24)}`,
  );
  const bits = new Map<string, readonly number[]>();
  const bitsOf = (value: string): readonly number[] => {
    const known = bits.get(value) ?? bloomBits(value);
    bits.set(value, known);
    return known;
  };
  const blocks = new Map<number, CannedBlock>();
  const heights = new Map<string, number>();
  const logOf = new Map<string, { readonly height: number; readonly place: number }>();
  const keptReceipts = new Map<number, Buffer>();
  const hashOf = (height: number): string =>
    height < 0 ? `0x${'0'.repeat(64)}` : `0x${sha(`${plan.seed} block ${height}`)}`;
  const timeOf = (height: number): number =>
    plan.startSeconds + Math.floor((height * plan.blockTimeMs) / 1_000);

  function transferOf(height: number, place: number) {
    const draw = createHash('sha256').update(`${plan.seed} ${height} ${place}`).digest();
    const isDeposit = place === 0 && height > 0 && height % plan.blocksPerDeposit === 0;
    const ours = plan.ours[draw.readUInt32LE(4) % plan.ours.length];
    const to = isDeposit && ours !== undefined ? ours : strangers[draw.readUInt32LE(4) % STRANGERS]!;
    return {
      token: plan.tokens[draw.readUInt8(0) % plan.tokens.length]!,
      from: strangers[draw.readUInt32LE(8) % STRANGERS]!,
      to,
      amount: 1 + draw.readUInt32LE(12),
      transactionHash: `0x${draw.toString('hex')}`,
    };
  }

  function logJson(height: number, place: number): string {
    const { token, from, to, amount, transactionHash } = transferOf(height, place);
    const data = `0x${amount.toString(16).padStart(64, '0')}`;
    const topics = `["${TRANSFER_TOPIC}","0x${ZEROS}${from.slice(2)}","0x${ZEROS}${to.slice(2)}"]`;
    return (
      `{"address":"${token}","topics":${topics},"data":"${data}","blockNumber":"${quantity(height)}",` +
      `"transactionHash":"${transactionHash}","transactionIndex":"${quantity(place)}","blockHash":"${hashOf(height)}",` +
      `"blockTimestamp":"${quantity(timeOf(height))}","logIndex":"${quantity(place)}","removed":false}`
    );
  }

  /** The bloom of one transfer, or of several. */
  function bloomOf(height: number, places: readonly number[]): string {
    const bloom = Buffer.alloc(BLOOM_BYTES);
    const add = (value: string): void => {
      for (const bit of bitsOf(value)) {
        const at = BLOOM_BYTES - 1 - (bit >> 3);
        bloom.writeUInt8(bloom.readUInt8(at) | (1 << (bit & 7)), at);
      }
    };
    for (const place of places) {
      const { token, from, to } = transferOf(height, place);
      for (const value of [token, TRANSFER_TOPIC, `0x${ZEROS}${from.slice(2)}`, `0x${ZEROS}${to.slice(2)}`])
        add(value);
    }
    return `0x${bloom.toString('hex')}`;
  }

  function make(height: number): CannedBlock {
    const places = Array.from({ length: plan.transfersPerBlock }, (_, place) => place);
    const paid = places.map((place) => transferOf(height, place).transactionHash);
    const others = Array.from(
      { length: plan.otherTransactions },
      (_, i) => `0x${sha(`${plan.seed} other ${height} ${i}`)}`,
    );
    const transactions = [...paid, ...others].map((hash) => `"${hash}"`).join(',');
    const header =
      `{"number":"${quantity(height)}","hash":"${hashOf(height)}","parentHash":"${hashOf(height - 1)}",` +
      `"nonce":"0x0000000000000000","sha3Uncles":"0x${sha('uncles')}","logsBloom":"${bloomOf(height, places)}",` +
      `"transactionsRoot":"0x${sha(`transactions ${height}`)}","stateRoot":"0x${sha(`state ${height}`)}",` +
      `"receiptsRoot":"0x${sha(`receipts ${height}`)}","miner":"${strangers[0]!}","difficulty":"0x0",` +
      `"extraData":"0x${sha('extra')}","size":"0x9c40","gasLimit":"0x2255100","gasUsed":"0x989680",` +
      `"timestamp":"${quantity(timeOf(height))}","mixHash":"0x${sha(`mix ${height}`)}","baseFeePerGas":"0x3b9aca00",` +
      `"withdrawalsRoot":"0x${sha(`withdrawals ${height}`)}","blobGasUsed":"0x0","excessBlobGas":"0x0",` +
      `"parentBeaconBlockRoot":"0x${sha(`beacon ${height}`)}","transactions":[${transactions}],"uncles":[],"withdrawals":[]}`;
    heights.set(hashOf(height), height);
    paid.forEach((hash, place) => logOf.set(hash, { height, place }));
    return {
      height,
      hash: hashOf(height),
      header: Buffer.from(header, 'latin1'),
      logs: Buffer.from(places.map((place) => logJson(height, place)).join(','), 'latin1'),
      transactionHashes: [...paid, ...others],
    };
  }

  function receiptJson(height: number, place: number, hash: string): string {
    const isTransfer = place < plan.transfersPerBlock;
    const { from, token } = transferOf(height, place);
    return (
      `{"transactionHash":"${hash}","transactionIndex":"${quantity(place)}","blockHash":"${hashOf(height)}",` +
      `"blockNumber":"${quantity(height)}","from":"${from}","to":"${token}","cumulativeGasUsed":"0x989680",` +
      `"gasUsed":"0xb41d","effectiveGasPrice":"0x3b9aca00","contractAddress":null,"type":"0x2","status":"0x1",` +
      `"logs":[${isTransfer ? logJson(height, place) : ''}],"logsBloom":"${bloomOf(height, isTransfer ? [place] : [])}"}`
    );
  }

  return {
    facts: (height) => ({
      height,
      hash: hashOf(height),
      parentHash: hashOf(height - 1),
      timeSeconds: timeOf(height),
    }),
    block(height) {
      const block = blocks.get(height) ?? make(height);
      blocks.set(height, block);
      return block;
    },
    forgetBelow(height) {
      for (const [known, block] of blocks) {
        if (known >= height) return; // they were made in ascending order
        blocks.delete(known);
        keptReceipts.delete(known);
        heights.delete(block.hash);
        for (const hash of block.transactionHashes) logOf.delete(hash);
      }
    },
    heightOf: (blockHash) => heights.get(blockHash),
    receipt(transactionHash) {
      const at = logOf.get(transactionHash);
      return at && receiptJson(at.height, at.place, transactionHash);
    },
    receiptsOf({ height, transactionHashes }) {
      const known = keptReceipts.get(height);
      if (known !== undefined) return known;
      const receipts = transactionHashes.map((hash, place) => receiptJson(height, place, hash));
      const json = Buffer.from(`[${receipts.join(',')}]`, 'latin1');
      if (plan.keepsReceipts === true) keptReceipts.set(height, json);
      return json;
    },
  };
}
