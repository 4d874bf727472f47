import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

// `node tools/devnets/scripts/compile-contracts.ts` writes artifacts/*.json. A test compares them with contracts/*.sol.
const SOURCE = join(import.meta.dirname, '..', 'src');

export interface ContractSet {
  readonly directory: string;
  readonly evmVersion: string;
}

/** TRON's virtual machine lacks opcodes that EVM forks after London added. */
export const CONTRACT_SETS: readonly ContractSet[] = [
  { directory: join(SOURCE, 'evm'), evmVersion: 'shanghai' },
  { directory: join(SOURCE, 'tron'), evmVersion: 'london' },
];

interface CompilerOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts: Readonly<
    Record<string, Record<string, { abi: unknown; evm: { bytecode: { object: string } } }>>
  >;
}

/** Returns artifact texts by file name. Throws on compiler errors and warnings. */
export function compileContracts({ directory, evmVersion }: ContractSet): Map<string, string> {
  const contractsFolder = join(directory, 'contracts');
  const solc = createRequire(import.meta.url)('solc') as {
    compile(input: string): string;
    version(): string;
  };
  const sources = readdirSync(contractsFolder).filter((file) => file.endsWith('.sol'));
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(
      sources.map((file) => [file, { content: readFileSync(join(contractsFolder, file), 'utf8') }]),
    ),
    settings: {
      evmVersion,
      optimizer: { enabled: true, runs: 200 },
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as CompilerOutput;
  if (output.errors?.length) throw new Error(output.errors.map((error) => error.formattedMessage).join('\n'));

  const artifacts = new Map<string, string>();
  for (const contracts of Object.values(output.contracts)) {
    for (const [contractName, { abi, evm }] of Object.entries(contracts)) {
      if (evm.bytecode.object === '') continue; // interfaces have no code
      const artifact = { contractName, compiler: solc.version(), abi, bytecode: `0x${evm.bytecode.object}` };
      artifacts.set(`${contractName}.json`, `${JSON.stringify(artifact, null, 2)}\n`);
    }
  }
  return artifacts;
}

if (import.meta.main) {
  for (const set of CONTRACT_SETS) {
    for (const [file, content] of compileContracts(set)) {
      writeFileSync(join(set.directory, 'artifacts', file), content);
      console.log(file);
    }
  }
}
