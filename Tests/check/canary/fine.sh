echo "goes well"
