-- A certificate that an edge of another make obtained and shows: its key is not ours.
ALTER TABLE "certificate" ALTER COLUMN "sealed_key" DROP NOT NULL;
