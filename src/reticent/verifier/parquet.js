// Parquet files through hyparquet and fzstd (vendor/): the only third-party part of the verifier (docs/reference/release-format.md, section 4.2).

import { parquetMetadata, parquetSchema } from "./vendor/hyparquet/metadata.js";
import { parquetRead } from "./vendor/hyparquet/read.js";
import { decompress } from "./vendor/fzstd/fzstd.js";

const raw = (number) => BigInt(number);
const decoder = new TextDecoder("utf-8", { fatal: true });

// Columns of a file by name: texts, numbers and Booleans as they are, days and microseconds as BigInt.
export async function readParquet(bytes) {
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const file = { byteLength: buffer.byteLength, slice: (start, end) => buffer.slice(start, end) };
  const metadata = parquetMetadata(buffer);
  const names = parquetSchema(metadata).children.map((child) => child.element.name);
  const parts = Object.fromEntries(names.map((name) => [name, []]));
  await parquetRead({
    file,
    metadata,
    compressors: { ZSTD: (input, length) => decompress(input, new Uint8Array(length)) },
    parsers: { dateFromDays: raw, timestampFromMicroseconds: raw, timestampFromMilliseconds: (millis) => raw(millis) * 1000n, timestampFromNanoseconds: (nanos) => raw(nanos) / 1000n, stringFromBytes: (content) => content && decoder.decode(content) },
    onChunk: ({ columnName, columnData, rowStart }) => parts[columnName].push([rowStart, columnData]),
  });
  return Object.fromEntries(names.map((name) => [name, parts[name].sort(([a], [b]) => a - b).flatMap(([, data]) => Array.from(data))]));
}
